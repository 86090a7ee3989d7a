"""Flow modifications."""

from __future__ import annotations

from dataclasses import dataclass

from controller.emulator.flow_table import Entry, Filter
from controller.emulator.headers import PREREQUISITES
from controller.emulator.personas import Persona
from controller.emulator.program import Program, compile_instructions
from controller.emulator.refusal import RefusedError
from controller.emulator.state import State
from controller.emulator.validation import (
    check_consistency,
    check_each_instruction,
    match_headers,
    port_exists,
)
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import FlowCommand, FlowFlag, FlowMod, RemovedReason
from controller.openflow.model import (
    ALL_TABLES,
    ANY_GROUP,
    NO_BUFFER,
    ApplyActions,
    Field,
    Instruction,
    Match,
    Metered,
    Output,
    Port,
    SetField,
    SetQueue,
    ToGroup,
    WriteActions,
)

_KNOWN_FLAGS = 0
for _flag in FlowFlag:
    _KNOWN_FLAGS |= _flag.value
_RESET = FlowFlag.RESET_COUNTS.value
_OVERLAP = FlowFlag.CHECK_OVERLAP.value
_DELETES = (FlowCommand.DELETE.value, FlowCommand.DELETE_STRICT.value)
_STRICT = (FlowCommand.MODIFY_STRICT.value, FlowCommand.DELETE_STRICT.value)
_SAME_COOKIE = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Known:
    """Instructions that were checked, each for itself, and compiled. ``unconditional``: they ask
    nothing of the packet."""

    instructions: tuple[Instruction, ...]
    version: int
    persona: Persona
    program: Program
    unconditional: bool


_REMEMBERED = 4096
_remembered: dict[int, _Known] = {}


def _known(instructions: tuple[Instruction, ...], version: int, persona: Persona) -> _Known:
    """Few different instructions are behind many flows, and the codec gives the same object for
    the same bytes: so by identity. Raises RefusedError."""
    found = _remembered.get(id(instructions))
    if (
        found is not None
        and found.instructions is instructions
        and found.version == version
        and found.persona is persona
    ):
        return found
    check_each_instruction(instructions, version, persona)
    known = _Known(
        instructions,
        version,
        persona,
        compile_instructions(instructions),
        all(
            type(action) in (Output, ToGroup, SetQueue)
            or (isinstance(action, SetField) and action.field not in _CONDITIONAL)
            for instruction in instructions
            if isinstance(instruction, ApplyActions | WriteActions)
            for action in instruction.actions
        ),
    )
    if len(_remembered) >= _REMEMBERED:
        _remembered.clear()
    _remembered[id(instructions)] = known
    return known


_CONDITIONAL = frozenset(PREREQUISITES) | {Field.VLAN_VID}


class CheckedFlowMod:
    """A modification that makes sense by itself. Whether it can be done depends on what the switch
    holds when it is (:meth:`apply`)."""

    __slots__ = ("_mask", "_mod", "_program", "_value")

    def __init__(self, state: State, mod: FlowMod, version: int) -> None:
        """Raises RefusedError."""
        persona = state.persona
        command = mod.command
        self._mod = mod
        self._value, self._mask = match_headers(mod.match, persona)
        if mod.table == ALL_TABLES and command not in _DELETES:
            raise RefusedError(ErrorCode.FLOW_MOD_FAILED_BAD_TABLE_ID)
        if not port_exists(mod.out_port):
            raise RefusedError(ErrorCode.BAD_ACTION_BAD_OUT_PORT)
        if command > FlowCommand.DELETE_STRICT:
            raise RefusedError(ErrorCode.FLOW_MOD_FAILED_BAD_COMMAND)
        known = _known(mod.instructions, version, persona)
        if mod.flags & ~_KNOWN_FLAGS:
            raise RefusedError(ErrorCode.FLOW_MOD_FAILED_BAD_FLAGS)
        if not known.unconditional or known.program.goto is not None:
            check_consistency(mod.instructions, self._value, mod.table, persona)
        if mod.table >= persona.tables and mod.table != ALL_TABLES:
            if not (persona.extensions and mod.table == persona.tables):
                raise RefusedError(ErrorCode.BAD_REQUEST_BAD_TABLE_ID)
            if command != FlowCommand.DELETE_STRICT:
                # Open vSwitch keeps one more table for itself.
                raise RefusedError(ErrorCode.BAD_REQUEST_EPERM)
        if mod.buffer_id != NO_BUFFER and command not in _DELETES:
            raise RefusedError(ErrorCode.BAD_REQUEST_BUFFER_UNKNOWN)
        self._program = known.program

    def apply(self, state: State, now: float) -> None:
        """Raises RefusedError, and has changed nothing then."""
        command = self._mod.command
        if command == FlowCommand.ADD:
            self._add(state, now)
        elif command in _DELETES:
            for entry in self._selected(state):
                state.remove(entry, RemovedReason.DELETE)
        else:
            self._modify(state, now)

    def _check_references(self, state: State) -> None:
        for instruction in self._mod.instructions:
            if isinstance(instruction, ApplyActions | WriteActions):
                for action in instruction.actions:
                    if isinstance(action, Metered) and action.meter_id not in state.meters:
                        raise RefusedError(ErrorCode.METER_MOD_FAILED_INVALID_METER)
                    if isinstance(action, ToGroup) and action.group_id not in state.groups:
                        raise RefusedError(ErrorCode.BAD_ACTION_BAD_OUT_GROUP)

    def _add(self, state: State, now: float) -> None:
        mod, program = self._mod, self._program
        if program.groups or program.meters:
            self._check_references(state)
        table = state.tables[mod.table]
        old = table.exact(self._value, self._mask, mod.priority)
        entry = self._entry(mod.table, self._value, self._mask, mod.priority, mod.match, now)
        if old is None:
            if mod.flags & _OVERLAP and table.overlaps(self._value, self._mask, mod.priority):
                raise RefusedError(ErrorCode.FLOW_MOD_FAILED_OVERLAP)
            if state.flows >= state.persona.max_flows:
                _evict(state, mod.table)
        else:
            if mod.cookie == _SAME_COOKIE:
                entry.cookie = old.cookie
            self._keep_counters(entry, old)
            state.remove(old, None)
        state.insert(entry)
        state.resized |= old is None

    def _modify(self, state: State, now: float) -> None:
        """Where nothing is selected, nothing happens."""
        selected = self._selected(state)
        if not selected:
            return
        self._check_references(state)
        for old in selected:
            entry = self._entry(old.table, old.value, old.mask, old.priority, old.match, now)
            entry.cookie = old.cookie
            entry.idle_timeout = old.idle_timeout
            entry.hard_timeout = old.hard_timeout
            entry.importance = old.importance
            entry.flags = old.flags
            entry.created = old.created
            self._keep_counters(entry, old)
            state.remove(old, None)
            state.insert(entry)

    def _keep_counters(self, entry: Entry, old: Entry) -> None:
        if not self._mod.flags & _RESET:
            entry.packets, entry.bytes, entry.used = old.packets, old.bytes, old.used

    def _entry(
        self, table: int, value: int, mask: int, priority: int, match: Match, now: float
    ) -> Entry:
        mod = self._mod
        return Entry(
            table,
            priority,
            value,
            mask,
            match,
            mod.instructions,
            self._program,
            now,
            cookie=mod.cookie,
            idle_timeout=mod.idle_timeout,
            hard_timeout=mod.hard_timeout,
            importance=mod.importance,
            flags=mod.flags,
        )

    def _selected(self, state: State) -> list[Entry]:
        mod = self._mod
        deletes = mod.command in _DELETES
        wanted = Filter(
            self._value,
            self._mask,
            mod.priority if mod.command in _STRICT else None,
            mod.cookie,
            mod.cookie_mask,
            None if mod.out_port == Port.ANY or not deletes else mod.out_port,
            None if mod.out_group == ANY_GROUP or not deletes else mod.out_group,
        )
        return select(state, mod.table, wanted)


def select(state: State, table: int, wanted: Filter) -> list[Entry]:
    """The entries of one table or of ``ALL_TABLES``."""
    tables = state.tables if table == ALL_TABLES else state.tables[table : table + 1]
    return [entry for each in tables if len(each) for entry in each.select(wanted)]


def _evict(state: State, table: int) -> None:
    """Make room in a full switch, where the table's configuration says so: the least important
    entry that will expire goes, of those the one that expires first."""
    if not (state.persona.eviction and state.settings[table].evicts):
        raise RefusedError(ErrorCode.FLOW_MOD_FAILED_TABLE_FULL)
    best: tuple[tuple[int, float], Entry] | None = None
    for entry in state.tables[table]:
        expiry = entry.expiry()
        if expiry is not None:
            rank = entry.importance, expiry[0]
            if best is None or rank < best[0]:
                best = rank, entry
    if best is None:
        raise RefusedError(ErrorCode.FLOW_MOD_FAILED_TABLE_FULL)
    state.remove(best[1], RemovedReason.EVICTION)

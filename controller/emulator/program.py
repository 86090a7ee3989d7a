"""Instructions and actions, compiled once when they are installed.

A program step is a function of the walk of one packet; it is called for each packet that matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from controller.emulator import headers as h
from controller.openflow.model import (
    Action,
    ApplyActions,
    ClearActions,
    CopyField,
    DecTtl,
    Field,
    GotoTable,
    Instruction,
    Metered,
    Output,
    PopVlan,
    PushVlan,
    SetField,
    SetQueue,
    SetTtl,
    ToGroup,
    WriteActions,
    WriteMetadata,
)

if TYPE_CHECKING:
    from controller.emulator.pipeline import Walk

Step: TypeAlias = "Callable[[Walk], None]"


@dataclass(frozen=True, slots=True)
class Program:
    """What an entry does, in the order of execution. ``ports``, ``groups`` and ``meters`` are those
    that its actions name."""

    apply: tuple[Step, ...] = ()
    clear: bool = False
    write: tuple[Action, ...] = ()
    metadata: int = 0
    metadata_mask: int = 0
    goto: int | None = None
    ports: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()
    meters: frozenset[int] = frozenset()


_NONE: frozenset[int] = frozenset()


def compile_instructions(instructions: Iterable[Instruction]) -> Program:
    apply: tuple[Step, ...] = ()
    clear = False
    write: tuple[Action, ...] = ()
    metadata = metadata_mask = 0
    goto = None
    named: list[Action] = []
    for instruction in instructions:
        if isinstance(instruction, ApplyActions):
            apply = compile_actions(instruction.actions)
            named += instruction.actions
        elif isinstance(instruction, WriteActions):
            write = instruction.actions
            named += write
        elif isinstance(instruction, ClearActions):
            clear = True
        elif isinstance(instruction, WriteMetadata):
            metadata = instruction.value << h.METADATA.shift
            metadata_mask = instruction.mask << h.METADATA.shift
        elif isinstance(instruction, GotoTable):
            goto = instruction.table
    ports = groups = meters = _NONE
    for action in named:
        kind = type(action)
        if kind is Output:
            ports |= {action.port}  # type: ignore[union-attr]
        elif kind is ToGroup:
            groups |= {action.group_id}  # type: ignore[union-attr]
        elif kind is Metered:
            meters |= {action.meter_id}  # type: ignore[union-attr]
    return Program(apply, clear, write, metadata, metadata_mask, goto, ports, groups, meters)


def compile_actions(actions: Iterable[Action]) -> tuple[Step, ...]:
    """An action list, executed as it stands."""
    return tuple([_compile(action) for action in actions])


@lru_cache(maxsize=1 << 14)
def compile_action_set(actions: tuple[Action, ...]) -> tuple[Step, ...]:
    """An action set, or a bucket's actions, in the order in which Open vSwitch executes one.

    Only the last of most kinds counts, a group goes before an output, and a set that has neither
    does nothing at all. Fields and queue are set in the order in which they were written.
    """
    return compile_actions(order_action_set(actions))


_SLOTS = (PopVlan, PushVlan, DecTtl)


def order_action_set(actions: Iterable[Action]) -> Sequence[Action]:
    slots: dict[type, Action] = {}
    settings: list[Action] = []
    final: Action | None = None
    for action in actions:
        kind = type(action)
        if kind in _SLOTS:
            slots[kind] = action
        elif kind is ToGroup or (kind is Output and type(final) is not ToGroup):
            final = action
        elif kind is not Output:
            settings.append(action)
    if final is None:
        return ()
    return [*(slots[kind] for kind in _SLOTS if kind in slots), *settings, final]


def _compile(action: Action) -> Step:
    if isinstance(action, Output):
        return _output(action.port, action.max_len)
    if isinstance(action, SetField):
        return _set_field(action)
    if isinstance(action, ToGroup):
        return _to_group(action.group_id)
    if isinstance(action, CopyField):
        return _copy_field(action)
    if isinstance(action, SetQueue):
        return _set_queue(action.queue)
    if isinstance(action, Metered):
        return _metered(action.meter_id)
    if isinstance(action, SetTtl):
        return _set_ttl(action.ttl)
    if isinstance(action, DecTtl):
        return _decrement_ttl
    if isinstance(action, PushVlan):
        return _push_vlan(action.ethertype)
    return _pop_vlan


def _output(port: int, max_len: int) -> Step:
    def step(walk: Walk) -> None:
        walk.output(port, max_len)

    return step


def _to_group(group_id: int) -> Step:
    def step(walk: Walk) -> None:
        walk.to_group(group_id)

    return step


def _set_queue(queue: int) -> Step:
    def step(walk: Walk) -> None:
        walk.queue = queue

    return step


def _metered(meter_id: int) -> Step:
    def step(walk: Walk) -> None:
        walk.meter(meter_id)

    return step


def _set_field(action: SetField) -> Step:
    place = h.PLACES[action.field]
    mask = place.ones if action.mask is None else action.mask
    bits = mask << place.shift
    keep = ~bits
    value = action.value << place.shift
    condition = h.PREREQUISITES.get(action.field)
    if action.field is Field.VLAN_VID:
        condition = h.has_vlan
    if condition is None:

        def step(walk: Walk) -> None:
            walk.headers = walk.headers & keep | value
            walk.replaced |= bits

    else:
        needs = condition

        def step(walk: Walk) -> None:
            if needs(walk.headers):
                walk.headers = walk.headers & keep | value
                walk.replaced |= bits

    return step


def _copy_field(action: CopyField) -> Step:
    source = h.PLACES[action.source].part(action.source_offset, action.bits)
    target = h.PLACES[action.target].part(action.target_offset, action.bits)

    # Of an ARP operation there are eight bits.
    kept = ~(0xFF00 << h.IP_PROTO.shift) if action.target is Field.ARP_OP else -1

    def step(walk: Walk) -> None:
        if h.exists(action.source, walk.headers) and h.exists(action.target, walk.headers):
            walk.headers = target.put(walk.headers, source.get(walk.headers)) & kept

    return step


def _set_ttl(ttl: int) -> Step:
    def step(walk: Walk) -> None:
        if h.is_ip(walk.headers):
            walk.headers = h.IP_TTL.put(walk.headers, ttl)

    return step


def _decrement_ttl(walk: Walk) -> None:
    if not h.is_ip(walk.headers):
        return
    ttl = h.IP_TTL.get(walk.headers)
    if ttl > 1:
        walk.headers = h.IP_TTL.put(walk.headers, ttl - 1)
    else:
        walk.ttl_expired()


def _push_vlan(ethertype: int) -> Step:
    def step(walk: Walk) -> None:
        headers = h.VLANS[1].put(walk.headers, h.VLANS[0].get(walk.headers))
        headers = h.VLAN_TPIDS[1].put(headers, h.VLAN_TPIDS[0].get(walk.headers))
        headers = h.VLANS[0].put(headers, h.VLAN_PRESENT)
        walk.headers = h.VLAN_TPIDS[0].put(headers, ethertype)

    return step


def _pop_vlan(walk: Walk) -> None:
    headers = h.VLANS[0].put(walk.headers, h.VLANS[1].get(walk.headers))
    headers = h.VLAN_TPIDS[0].put(headers, h.VLAN_TPIDS[1].get(walk.headers))
    walk.headers = h.VLANS[1].put(h.VLAN_TPIDS[1].put(headers, 0), 0)

"""What controllers want of a flow table: that it makes room, and that it says how full it is.

A vacancy event is sent once when less of the table is free than its lower mark, then once when more
is free than its upper mark, and so on. Which of both comes first depends on how full the table is
when events are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.emulator.refusal import RefusedError
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import (
    TableConfig,
    TableDescription,
    TableMod,
    TableReason,
    TableStatus,
    Vacancy,
)

if TYPE_CHECKING:
    from controller.emulator.state import State

_ALL_TABLES = 0xFF
_VERSION_1_4 = 5
_EVICTION_FLAGS = 7
"""Open vSwitch evicts by importance, by lifetime, and by owner, and says so of every table."""
_EVICTS, _KEEPS = 1, 2


@dataclass(slots=True)
class TableSettings:
    """``down`` and ``up`` are percent of the table; ``awaited`` is None where no events are asked
    for."""

    evicts: bool = False
    down: int = 0
    up: int = 0
    awaited: TableReason | None = None


def describe(state: State, table: int) -> TableDescription:
    settings = state.settings[table]
    config = TableConfig.EVICTION.value if settings.evicts else 0
    vacancy = None
    if settings.awaited is not None:
        config |= TableConfig.VACANCY_EVENTS.value
        vacancy = Vacancy(settings.down, settings.up, state.vacancy())
    flags = _EVICTION_FLAGS if state.persona.eviction else None
    return TableDescription(table, config, flags, vacancy)


def modify(state: State, request: TableMod, version: int) -> None:
    """Raises RefusedError."""
    vacancy = request.vacancy
    if vacancy is not None and (vacancy.now or not vacancy.down <= vacancy.up <= 100):
        raise RefusedError(ErrorCode.BAD_PROPERTY_BAD_VALUE)
    if request.table != _ALL_TABLES and request.table >= len(state.settings):
        if state.persona.extensions and request.table == len(state.settings):
            # Open vSwitch keeps one more table for itself.
            raise RefusedError(ErrorCode.TABLE_MOD_FAILED_EPERM)
        raise RefusedError(ErrorCode.TABLE_MOD_FAILED_BAD_TABLE)
    if not state.persona.eviction:
        if request.config:
            raise RefusedError(ErrorCode.TABLE_MOD_FAILED_BAD_CONFIG)
        return
    if version < _VERSION_1_4:
        # What the bits meant before has no effect.
        return
    everyone = request.table == _ALL_TABLES
    for table in range(len(state.settings)) if everyone else (request.table,):
        _modify(state, table, request)


def _modify(state: State, table: int, request: TableMod) -> None:
    settings = state.settings[table]
    if request.eviction is None:
        settings.evicts = bool(request.config & TableConfig.EVICTION)
    elif request.eviction in (_EVICTS, _KEEPS):
        # Open vSwitch takes the flags, if there are any, for its own three-valued switch.
        settings.evicts = request.eviction == _EVICTS
    vacancy = request.vacancy or Vacancy(0, 0)
    settings.down, settings.up = vacancy.down, vacancy.up
    if not request.config & TableConfig.VACANCY_EVENTS:
        settings.awaited = None
        state.watched.discard(table)
    elif settings.awaited is None:
        is_full = state.vacancy() < settings.up
        settings.awaited = TableReason.VACANCY_UP if is_full else TableReason.VACANCY_DOWN
        state.watched.add(table)


def vacancy_events(state: State) -> list[TableStatus]:
    """Those that are due now. Tables share the room of the switch, so each speaks for all."""
    events = []
    for number in sorted(state.watched):
        settings = state.settings[number]
        assert settings.awaited is not None
        free = state.vacancy()
        if settings.awaited is TableReason.VACANCY_DOWN:
            due, following = free < settings.down, TableReason.VACANCY_UP
        else:
            due = free > settings.up and free >= settings.down
            following = TableReason.VACANCY_DOWN
        if due:
            events.append(TableStatus(settings.awaited, describe(state, number)))
            settings.awaited = following
    return events

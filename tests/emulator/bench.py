"""A switch with controllers at hand."""

from __future__ import annotations

from typing import Any

from controller.emulator import headers as h
from controller.emulator.personas import load
from controller.emulator.pipeline import Walk
from controller.emulator.ports import PortEntry
from controller.emulator.switch import Connected, Effects, Event, Switch, TimePassed
from controller.openflow import messages as m
from controller.openflow.codec import decode, encode
from controller.openflow.model import ApplyActions, Field, Instruction, Match
from controller.openflow.wire import split


class Bench:
    """``clock`` is the time of whatever is done next."""

    def __init__(self, persona: str = "openvswitch-3.1", version: int = 6, ports: int = 8) -> None:
        entries = [PortEntry(n, f"p{n}", 0x0200 + n) for n in range(1, ports + 1)]
        self.switch = Switch(0xD, entries, load(persona))
        self.version = version
        self.clock = 0.0
        self.xid = 0
        self.connect("c")

    def connect(self, name: str, version: int | None = None) -> None:
        self.switch.event(Connected(name), self.clock)
        own = version or self.version
        self.switch.receive(name, encode(m.Hello((own,)), own), self.clock)

    def say(self, *requests: Any, to: str = "c") -> Effects:
        data = b""
        for request in requests:
            self.xid += 1
            data += encode(request, self.version, self.xid)
        return self.switch.receive(to, data, self.clock)

    def ask(self, *requests: Any, to: str = "c") -> list[Any]:
        """The replies to whoever asks."""
        return heard(self.say(*requests, to=to), to)

    def errors(self, *requests: Any) -> list[tuple[int, int]]:
        return [(e.type, e.code) for e in self.ask(*requests) if isinstance(e, m.Error)]

    def happen(self, event: Event) -> Effects:
        return self.switch.event(event, self.clock)

    def pass_time(self, until: float) -> Effects:
        self.clock = until
        return self.happen(TimePassed())

    def ports_of(self, fields: dict[Field, int], hashed: int | None = None) -> list[int]:
        """Where a packet with these headers goes."""
        walk = Walk(self.switch.state.forwarding, h.of(fields), hashed).through_tables()
        return [sent.port for sent in walk.sent]


def heard(effects: Effects, who: str = "c") -> list[Any]:
    return [decode(each).message for each in split(effects.messages.get(who, b""))[0]]


def flow(
    match: dict[Field, int | tuple[int, int]] | None,
    *rest: Any,
    table: int = 0,
    priority: int = 1,
    **more: Any,
) -> m.FlowMod:
    """``rest``: actions to apply, or instructions."""
    instructions: tuple[Instruction, ...] = tuple(rest)
    if rest and not isinstance(rest[0], Instruction):
        instructions = (ApplyActions(tuple(rest)),)
    return m.FlowMod(
        m.FlowCommand.ADD, table, priority, Match.of(match or {}), instructions, **more
    )


def delete(match: dict[Field, int | tuple[int, int]] | None = None, **more: Any) -> m.FlowMod:
    return m.FlowMod(m.FlowCommand.DELETE, 255, 0, Match.of(match or {}), **more)

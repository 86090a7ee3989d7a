"""Scripts of faults: read from YAML, or drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from controller.emulator.fault_kinds import (
    KINDS,
    ClockSkew,
    DelayedReplies,
    Disconnect,
    Fault,
    FaultError,
    Flapping,
    Latency,
    LostReplies,
    SilentLoss,
    TableFull,
    WireFault,
    WrongCounters,
)
from controller.emulator.keys import parse_list, read_each, what_is_wrong
from controller.fabric.model import Fabric


def parse(text: str, source: str) -> tuple[Fault, ...]:
    """A YAML list of mappings, each with ``fault`` (the kind) and the fault's own keys. Raises
    FaultError with all that is wrong; ``source`` names the text."""
    return read(parse_list(text, source, "a script is a list of faults", FaultError), source)


def read(given: Sequence[Any], source: str) -> tuple[Fault, ...]:
    """The same from what YAML holds."""
    return read_each(given, source, "fault", _fault, FaultError)


def _fault(values: dict[str, Any]) -> Fault | list[str]:
    name = str(values.pop("fault", None))
    kind = KINDS.get(name)
    if kind is None:
        return [f"`fault` is {name!r}, not one of {', '.join(KINDS)}"]
    return what_is_wrong(kind, values, name) or kind(**values)


def draw(fabric: Fabric, seed: int, duration_s: float, count: int) -> tuple[Fault, ...]:
    """``count`` faults at random, of all kinds and places, all over before ``duration_s``."""
    random = Random(seed)
    wires = [link.name for link in fabric.links]
    switches = [switch.name for switch in fabric.switches]
    found: list[Fault] = []
    for _ in range(count):
        kind = random.choice(list(KINDS.values()))
        begin, end = sorted(random.uniform(0.0, duration_s) for _ in range(2))
        values: dict[str, Any] = {"at_s": begin, "until_s": end}
        if issubclass(kind, WireFault):
            if not wires:
                continue
            values["wire"] = random.choice(wires)
        else:
            values["switch"] = random.choice(switches)
        found.append(kind(**values, **_SEVERITY.get(kind, _mild)(random, end - begin)))
    return tuple(sorted(found, key=lambda fault: fault.at_s))


def _mild(random: Random, length_s: float) -> dict[str, Any]:
    return {}


_SEVERITY: dict[type[Any], Callable[[Random, float], dict[str, Any]]] = {
    Flapping: lambda r, length: {
        "period_s": max(length / r.randint(1, 10), 1e-3),
        "down_share": r.uniform(0.1, 0.9),
    },
    SilentLoss: lambda r, _: {"rate": 10 ** r.uniform(-4, 0)},
    Latency: lambda r, _: {"extra_s": 10 ** r.uniform(-5, -1)},
    DelayedReplies: lambda r, _: {"most_s": 10 ** r.uniform(-3, 0)},
    LostReplies: lambda r, _: {"rate": r.uniform(0.01, 0.5)},
    TableFull: lambda r, _: {"room": r.choice((0, 1, 10))},
    WrongCounters: lambda r, _: {
        "factor": r.choice((0.0, 0.5, 1.0, 2.0)),
        "reset": r.random() < 0.5,
    },
    ClockSkew: lambda r, _: {"offset_s": r.uniform(-10, 10), "drift": r.uniform(-0.1, 0.1)},
    Disconnect: lambda r, _: {
        "after_bytes": r.randint(0, 2000),
        "by": r.choice(("switch", "controller")),
    },
}

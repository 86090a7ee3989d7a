"""What one can do with a fleet that plays: a line of words in, a sentence or a table out.

The words are those of Mininet's prompt where it has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from controller.emulator import demand_file, fault_script
from controller.emulator.fault_kinds import KINDS, FaultError
from controller.emulator.keys import did_you_mean
from controller.emulator.routes import Demand
from controller.emulator.shell.answer import Answer
from controller.emulator.shell.fleet import Fleet
from controller.emulator.wires import End, Wire
from controller.fabric.model import PortRef

_PROMPT = "prompt"


class CommandError(ValueError):
    """The command is not carried out; the text says why, and what to write."""


def answer(fleet: Fleet, line: str) -> Answer:
    """Carry out one command. Raises CommandError."""
    name, *words = line.split()
    found = _COMMANDS.get(name)
    if found is None:
        raise CommandError(f"there is no command {name!r}{did_you_mean(name, _COMMANDS)}")
    try:
        made = found.act(fleet, words)
    except (FaultError, demand_file.DemandError) as error:
        # Where one was given at the prompt, it needs no number.
        text = str(error).replace(f"{_PROMPT}: fault 1: ", "").replace(f"{_PROMPT}: demand 1: ", "")
        raise CommandError(text) from None
    except _UsageError as error:
        why = f"{error}; " if str(error) else ""
        usages = " or ".join(usage for usage, _ in found.usages)
        raise CommandError(f"{why}write {usages}") from None
    if isinstance(made, str):
        return Answer(fleet.now, made)
    columns, rows = made
    return Answer(fleet.now, "" if rows else "none", columns, rows)


class _UsageError(ValueError):
    pass


_Table = tuple[tuple[str, ...], list[tuple[Any, ...]]]


# ---- Cables and power ----


def _link(fleet: Fleet, words: Sequence[str]) -> str:
    if len(words) not in (2, 3) or words[-1] not in ("down", "up"):
        raise _UsageError
    wires = _wires(fleet, words[:-1])
    for wire in wires:
        fleet.set_link(wire.name, words[-1] == "up")
    states = [f"{w.name} is {'up' if w.up else _why_down(w)}" for w in wires]
    return "; ".join(states)


def _wires(fleet: Fleet, names: Sequence[str]) -> list[Wire]:
    """The one of this name, or all between two switches or hosts."""
    network = fleet.network
    if len(names) == 1:
        found = network.wires.get(names[0])
        if found is None:
            near = did_you_mean(names[0], network.wires)
            raise CommandError(f"there is no link or NIC {names[0]!r}{near}")
        return [found]
    places = [*network.nodes, *fleet.fabric.host_by_name]
    for name in names:
        if name not in places:
            raise CommandError(f"there is no switch or host {name!r}{did_you_mean(name, places)}")
    asked = set(names)
    found_all = [
        wire
        for wire in network.wires.values()
        if {_place(fleet, direction.tail) for direction in wire.directions} == asked
    ]
    if not found_all:
        raise CommandError(f"no cable joins {names[0]} and {names[1]}; `links` shows all")
    return found_all


def _place(fleet: Fleet, end: End) -> str:
    return end.switch if isinstance(end, PortRef) else fleet.fabric.nic_by_id[end.nic].host


def _why_down(wire: Wire) -> str:
    other = sorted(wire.cuts - {"cable"})
    return f"down ({', '.join(other)})" if other else "down"


def _swap(fleet: Fleet, words: Sequence[str]) -> str:
    if len(words) != 2:
        raise _UsageError
    a, b = (_port(fleet, word) for word in words)
    try:
        fleet.swap(a, b)
    except ValueError as error:
        raise CommandError(str(error)) from None
    heads = {port: fleet.network.wire_at[port][1].head for port in (a, b)}
    return "; ".join(f"{port} is joined to {head}" for port, head in heads.items())


def _port(fleet: Fleet, word: str) -> PortRef:
    switch, _, number = word.rpartition(":")
    port = PortRef(switch, int(number)) if number.isascii() and number.isdigit() else None
    if port is None or port not in fleet.network.wire_at:
        known = [str(end) for end in fleet.network.wire_at if isinstance(end, PortRef)]
        raise CommandError(f"there is no cable at a port {word!r}{did_you_mean(word, known)}")
    return port


def _switch(fleet: Fleet, words: Sequence[str]) -> str:
    if len(words) != 2 or words[1] not in ("start", "stop"):
        raise _UsageError
    name, action = words
    if name not in fleet.network.nodes:
        raise CommandError(f"there is no switch {name!r}{did_you_mean(name, fleet.network.nodes)}")
    fleet.set_power(name, action == "start")
    if action == "stop":
        return f"{name} has no power: its session and the carriers of its neighbours are gone"
    return f"{name} has power, and empty tables"


# ---- Faults ----


def _fault(fleet: Fleet, words: Sequence[str]) -> str:
    if not words:
        raise _UsageError
    values: dict[str, Any] = {"fault": words[0], "at_s": fleet.now}
    for word in words[1:]:
        key, equals, text = word.partition("=")
        if not equals:
            raise _UsageError(f"{word!r} is not KEY=VALUE")
        values[key] = _value(text)
    lasts_s = values.pop("for", None)
    if lasts_s is not None:
        if isinstance(lasts_s, bool) or not isinstance(lasts_s, int | float) or lasts_s <= 0:
            raise _UsageError(f"`for` is {lasts_s!r}, not a number of seconds")
        values["until_s"] = fleet.now + lasts_s
    fleet.install(fault_script.read([values], _PROMPT))
    return f"{words[0]} for {lasts_s:g} s" if lasts_s is not None else f"{words[0]} for good"


def _faults(fleet: Fleet, words: Sequence[str]) -> str:
    if len(words) != 1:
        raise _UsageError
    script = fault_script.parse(_text(words[0]), words[0])
    fleet.install(script)
    return f"{len(script)} faults; their times count from the start, {fleet.now:.1f} s ago"


# ---- Traffic ----


def _traffic(fleet: Fleet, words: Sequence[str]) -> str | _Table:
    if not words:
        return _flowing(fleet)
    if words == ["stop"]:
        fleet.offer(())
        return "no traffic"
    if words[0] == "stop" and len(words) == 2:
        ended = set(demand_file.parse(_text(words[1]), words[1], fleet.fabric))
        fleet.offer([demand for demand in _demands(fleet) if demand not in ended])
        return _count(fleet)
    if len(words) == 1:
        more = demand_file.parse(_text(words[0]), words[0], fleet.fabric)
    elif len(words) >= 3 and "=" not in "".join(words[:3]):
        values: dict[str, Any] = dict(zip(("from", "to", "rate"), words[:3], strict=True))
        for word in words[3:]:
            key, equals, text = word.partition("=")
            if not equals:
                raise _UsageError(f"{word!r} is not KEY=VALUE")
            values[key] = _value(text)
        more = demand_file.read([values], _PROMPT, fleet.fabric)
    else:
        raise _UsageError
    fleet.offer([*_demands(fleet), *more])
    return _count(fleet)


def _count(fleet: Fleet) -> str:
    count = len(_demands(fleet))
    return f"{count} demand{'s' if count != 1 else ''} in all"


def _demands(fleet: Fleet) -> Sequence[Demand]:
    return () if fleet.traffic is None else fleet.traffic.demands


_DEMAND_COLUMNS = (
    *("from", "to", "rate_bps", "sent_bps", "delivered_bps", "dropped_bps", "lost_bps"),
    *("astray_bps", "latency_s", "port", "why_astray"),
)


def _flowing(fleet: Fleet) -> _Table:
    traffic = fleet.traffic
    if traffic is None or not traffic.demands:
        return _DEMAND_COLUMNS, []
    report = traffic.report()
    rows = []
    for i, demand in enumerate(traffic.demands):
        flows = (report.sent_bps, report.delivered_bps, report.dropped_bps, report.lost_bps)
        fates = traffic.fates(i)
        why = ", ".join(f.value for f in fates if f.value != "delivered")
        rates = [float(each[i]) for each in (*flows, report.astray_bps)]
        ends = demand.source, demand.target, demand.rate_bps
        latency_s = float(report.latency_s[i])
        # JSON has no word for what is no number.
        latency = None if latency_s != latency_s else latency_s
        rows.append((*ends, *rates, latency, demand.port, why))
    return _DEMAND_COLUMNS, rows


# ---- What there is ----


def _links(fleet: Fleet, words: Sequence[str]) -> _Table:
    if words:
        raise _UsageError
    traffic = fleet.traffic
    loads = {} if traffic is None else traffic.loads()
    rows: list[tuple[Any, ...]] = []
    for wire in fleet.network.wires.values():
        state = "up" if wire.up else _why_down(wire)
        for way in wire.directions:
            load = loads.get(way.tail, 0.0)
            used = load / wire.capacity_bps
            ends = str(way.tail), str(way.head)
            rows.append((wire.name, *ends, state, wire.capacity_bps, load, used))
    return ("link", "from", "to", "state", "capacity_bps", "load_bps", "used_share"), rows


def _switches(fleet: Fleet, words: Sequence[str]) -> _Table:
    if words:
        raise _UsageError
    rows: list[tuple[Any, ...]] = []
    for name, player in fleet.players.items():
        dpid = f"0x{fleet.fabric.switch_by_name[name].dpid:x}"
        state = fleet.read(name)
        if state is None:
            rows.append((name, dpid, "no power", 0, 0, ""))
            continue
        said = "connected" if player.connected else "not connected"
        why = "" if player.connected else player.last_error
        rows.append((name, dpid, said, state.flows, len(state.groups), why))
    return ("switch", "dpid", "state", "flows", "groups", "why"), rows


_COUNTERS = (
    *("rx_packets", "tx_packets", "rx_bytes", "tx_bytes"),
    *("rx_dropped", "tx_dropped"),
)


def _ports(fleet: Fleet, words: Sequence[str]) -> _Table:
    known = fleet.network.nodes
    for name in words:
        if name not in known:
            raise CommandError(f"there is no switch {name!r}{did_you_mean(name, known)}")
    rows: list[tuple[Any, ...]] = []
    for name in words or known:
        state = fleet.read(name)
        for port in state.ports.all() if state is not None else ():
            found = fleet.network.wire_at.get(PortRef(name, port.number))
            if found is not None:
                counted = [getattr(port, counter) for counter in _COUNTERS]
                rows.append((f"{name}:{port.number}", str(found[1].head), *counted))
    return ("port", "to", *_COUNTERS), rows


# ---- Help ----


def _help(fleet: Fleet, words: Sequence[str]) -> str:
    if words:
        found = _COMMANDS.get(words[0])
        if found is None:
            raise CommandError(
                f"there is no command {words[0]!r}{did_you_mean(words[0], _COMMANDS)}"
            )
        usages = found.usages
    else:
        usages = tuple(each for command in _COMMANDS.values() for each in command.usages)
    lines = [f"{usage:<36}  {text}" for usage, text in usages]
    if words == ["fault"]:
        lines += [f"  {name:<16}  {_summary(kind)}" for name, kind in KINDS.items()]
    return "\n".join(lines)


def _summary(kind: type[Any]) -> str:
    return " ".join((kind.__doc__ or "").split()).partition(". ")[0].rstrip(".")


def _value(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text") from None


@dataclass(frozen=True, slots=True)
class _Command:
    """``usages``: what to write, and what it does."""

    act: Callable[[Fleet, Sequence[str]], str | _Table]
    usages: tuple[tuple[str, str], ...]


_COMMANDS = {
    "link": _Command(
        _link,
        (
            (
                "link leaf1 spine1 down|up",
                "cut all cables between two switches or hosts, mend them",
            ),
            ("link NAME down|up", "the same with one link, or the cable of a NIC"),
        ),
    ),
    "swap": _Command(
        _swap,
        (
            (
                "swap leaf2:3 leaf2:4",
                "exchange the cables of two ports; the same again puts it right",
            ),
        ),
    ),
    "switch": _Command(
        _switch, (("switch spine1 stop|start", "take its power away, or give it back"),)
    ),
    "fault": _Command(
        _fault,
        (
            (
                "fault KIND KEY=VALUE... [for=S]",
                "any fault: `fault silent-loss wire=LINK rate=0.01 for=10`",
            ),
        ),
    ),
    "faults": _Command(_faults, (("faults FILE", "a script of them"),)),
    "traffic": _Command(
        _traffic,
        (
            ("traffic FROM TO RATE [KEY=VALUE...]", "a demand more: `traffic h1 h3 10M flows=256`"),
            ("traffic FILE", "all demands of a file more"),
            ("traffic stop [FILE]", "end it all, or the demands of a file"),
            ("traffic", "what of each demand arrives"),
        ),
    ),
    "links": _Command(_links, (("links", "what each direction of each cable carries"),)),
    "switches": _Command(_switches, (("switches", "their connections and tables"),)),
    "ports": _Command(_ports, (("ports [SWITCH...]", "counters of ports"),)),
    "help": _Command(_help, (("help [COMMAND]", "this; `help fault` lists the kinds"),)),
}

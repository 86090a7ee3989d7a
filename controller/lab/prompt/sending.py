"""Traffic: floods, pings, one TCP connection, collectives; and the intents that let it through."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import heald
from controller.emulator.shell.answer import Answer
from controller.fabric.model import Nic
from controller.intents.selectors import did_you_mean
from controller.lab.collectives import ALGORITHMS, side_by_side
from controller.lab.errors import LabError
from controller.lab.prompt import words as w
from controller.lab.prompt.command import Command, Session, UsageError
from controller.lab.prompt.ground import Flow, Flowing

_FLOOD_S = 5.0
_TCP_S = 5.0
_PINGS = 3
_INTENT = "lab"
_ACTIVE_S = 60.0

_VERSION: Mapping[str, Callable[[str], Any]] = {"version": w.whole(4, 6)}
_COLUMNS = ("from", "to", "sent_bps", "arrived_bps", "lost_share", "lost_packets", "silence_ms")


def _flood(session: Session, words: Sequence[str]) -> Answer:
    """The default rate is that of the sender's NIC."""
    later = bool(words) and words[-1] == "&"
    known: Mapping[str, Callable[[str], Any]]
    known = {"for": w.seconds, "class": str, "flows": w.whole(1, 65536), **_VERSION}
    plain, options = w.options(words[:-1] if later else words, known)
    if len(plain) not in (2, 3):
        raise UsageError
    source, destination = _ends(session, plain)
    flow = Flow(
        source,
        destination,
        w.rate_bps(plain[2]) if len(plain) == 3 else source.capacity_bps,
        options.get("flows", 1),
        _dscp(session, options.get("class")),
        _version(options),
    )
    if later and "for" in options:
        raise LabError("what goes on behind the prompt ends by `stop`; write `for` or &, not both")
    sent = session.ground.send(flow)
    if later:
        session.flowing.append(sent)
        return session.say(
            f"{source.id} floods {destination.id}; `stop` ends it and says what arrived"
        )
    try:
        time.sleep(options.get("for", _FLOOD_S))
    except KeyboardInterrupt:
        pass  # What arrived until then is said.
    return _arrived(session, [sent])


def _stop(session: Session, words: Sequence[str]) -> Answer:
    if words:
        raise UsageError
    flowing, session.flowing = session.flowing, []
    if not flowing:
        return session.say("nothing is flowing")
    return _arrived(session, flowing)


def _arrived(session: Session, flowing: Sequence[Flowing]) -> Answer:
    """Ends them."""
    rows = []
    hints = []
    for each, arrived in zip(flowing, session.ground.stop(flowing), strict=True):
        flow = each.flow
        ends = flow.source.id, flow.destination.id
        rates = arrived.sent_bps, arrived.arrived_bps, arrived.lost_share
        rows.append((*ends, *rates, arrived.lost_packets, arrived.silence_ms))
        if arrived.arrived_bps == 0:
            hints.append(_nothing_arrives(flow.source, flow.destination))
    return session.say("\n".join(hints), _COLUMNS, rows)


def _nothing_arrives(source: Nic, destination: Nic) -> str:
    return (
        f"nothing of {source.id} arrives at {destination.id}: there is no way, or no intent that "
        f"lets them talk (allow {source.host} {destination.host})"
    )


def _ping(session: Session, words: Sequence[str]) -> Answer:
    plain, options = w.options(words, {"count": w.whole(1, 1000), **_VERSION})
    if len(plain) != 2:
        raise UsageError
    source, destination = _ends(session, plain)
    count = options.get("count", _PINGS)
    echoes = session.ground.ping(source, destination, count, _version(options))
    hint = "" if echoes.came_back else _nothing_arrives(source, destination)
    columns = ("from", "to", "sent", "came_back", "round_trip_ms")
    row = (source.id, destination.id, echoes.sent, echoes.came_back, echoes.round_trip_ms)
    return session.say(hint, columns, [row])


def _tcp(session: Session, words: Sequence[str]) -> Answer:
    plain, options = w.options(words, {"for": w.seconds, **_VERSION})
    if len(plain) != 2:
        raise UsageError
    source, destination = _ends(session, plain)
    if not session.ground.ping(source, destination, 1, _version(options)).came_back:
        raise LabError(_nothing_arrives(source, destination))
    duration_s = options.get("for", _TCP_S)
    bps = session.ground.tcp(source, destination, duration_s, _version(options))
    slowest = min(source.capacity_bps, destination.capacity_bps)
    columns = ("from", "to", "for_s", "arrived_bps", "of_nic_share")
    return session.say("", columns, [(source.id, destination.id, duration_s, bps, bps / slowest)])


def _collective(session: Session, words: Sequence[str]) -> Answer:
    """By default each rank has as many bytes as its NIC sends in a second."""
    plain, options = w.options(words, {"size": w.size_bytes, **_VERSION})
    if len(plain) < 2:
        raise UsageError
    kind, *named = plain
    if kind not in ALGORITHMS:
        raise LabError(f"there is no collective {kind!r}{did_you_mean(kind, ALGORITHMS)}")
    algorithm = ALGORITHMS[kind]
    rails = w.rails(session.ground.fabric, named)
    ranks = len(rails[0])
    nics = [nic for rail in rails for nic in rail]
    if ranks < 2 or len({nic.id for nic in nics}) < len(nics):
        raise LabError(f"a {kind} takes two ranks or more, and each of them once")
    nic_bps = min(nic.capacity_bps for nic in nics)
    size_bytes = options.get("size", round(nic_bps * len(rails) / 8))
    try:
        groups = [algorithm.steps(ranks, size_bytes // len(rails)) for _ in rails]
    except ValueError as error:
        raise LabError(str(error)) from None
    took_s = session.ground.exchange(nics, side_by_side(groups, ranks), _version(options))
    bus_bps = algorithm.bus_share(ranks) * 8 * size_bytes / took_s
    rate_bps = 8 * size_bytes / took_s
    share = bus_bps / (nic_bps * len(rails))
    columns = ("ranks", "rails", "size_bytes", "took_s", "rate_bps", "bus_bps", "of_nics_share")
    row = (ranks, len(rails), size_bytes, took_s, rate_bps, bus_bps, share)
    return session.say(algorithm.what, columns, [row])


def _allow(session: Session, words: Sequence[str]) -> Answer:
    plain, options = w.options(words, {"as": str})
    if not plain:
        raise UsageError
    name = options.get("as", _INTENT)
    hosts = w.hosts(session.ground.fabric, plain)
    everyone = list(plain) == [w.ALL]
    intent = heald.connectivity(name, all=everyone, hosts=() if everyone else hosts)
    with session.need_controller().client() as client:
        client.apply([intent])
        client.wait_active([name], timeout_s=_ACTIVE_S)
    return session.say(f"intent {name} is active: {len(hosts)} hosts may talk to each other")


def _ends(session: Session, words: Sequence[str]) -> tuple[Nic, Nic]:
    source, destination = (w.nic(session.ground.fabric, word) for word in words[:2])
    if source.host == destination.host:
        raise LabError(f"{source.id} and {destination.id} are of one host; name two")
    return source, destination


def _version(options: dict[str, int]) -> int:
    version = options.get("version", 4)
    if version == 5:
        raise LabError("IP has the versions 4 and 6")
    return version


def _dscp(session: Session, name: str | None) -> int:
    if name is None:
        return 0
    classes = {each.name: each for each in session.ground.fabric.classes}
    return classes[w.one_of(name, classes, "class")].dscp or 0


COMMANDS = {
    "allow": Command(
        _allow,
        (
            (
                "allow HOST...|all [as=INTENT]",
                "let hosts talk to each other, by a connectivity intent",
            ),
        ),
        ("allow all", "allow h1..h4 h7 as=job-a"),
    ),
    "ping": Command(
        _ping,
        (("ping FROM TO [count=N]", "is there a way, and how long does it take"),),
        ("ping h1 h3", "ping h1 h3 count=10 version=6"),
    ),
    "flood": Command(
        _flood,
        (
            ("flood FROM TO [RATE] [for=S]", "UDP at a constant rate; says what of it arrived"),
            ("  [flows=N] [class=NAME] [&]", "N source ports; & goes on behind the prompt"),
        ),
        ("flood h1 h3", "flood h1 h3 20M flows=64 for=10", "flood h2 h4 30M class=storage &"),
    ),
    "stop": Command(_stop, (("stop", "end all floods behind the prompt; what of them arrived"),)),
    "tcp": Command(
        _tcp,
        (("tcp FROM TO [for=S]", "one TCP connection as fast as it goes, as iperf does"),),
        ("tcp h1 h3", "tcp h1 h3 for=10"),
    ),
    "collective": Command(
        _collective,
        (
            ("collective KIND HOST... [size=B]", f"KIND is {', '.join(ALGORITHMS)}"),
            ("  HOST is h1..h8, or h1..h8/*", "for a group on each rail, side by side"),
        ),
        (
            "collective ring h1..h8",
            "collective halving-doubling h1..h8 size=10MB",
            "collective all-to-all all",
            "collective ring h1..h8/*",
        ),
    ),
}

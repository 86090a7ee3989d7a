"""Each chosen source NIC gets a path of its own to each chosen destination NIC."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from controller.fabric.model import Fabric
from controller.intents import words
from controller.intents.demands import FlowId, PinnedFlow, Reach
from controller.intents.kinds.expansion import Expansion, choose
from controller.intents.model import OnShortage, PointToPoint
from controller.intents.selectors import Problem, Selection, did_you_mean

MAX_FLOWS = 4_096
"""Of one intent."""


def check(spec: PointToPoint, fabric: Fabric, hints: int) -> tuple[Problem, ...]:
    """All that is wrong with it; the first ``hints`` mistakes of a field get a suggestion."""
    return _problems(spec, fabric, *_ends(spec, fabric, hints), hints)


def expand(name: str, spec: PointToPoint, fabric: Fabric) -> Expansion:
    """A flow for each pair of two NICs, each switch of the sender and each UDP source port.

    A pair gets an equal part of the rate, and of that so does each of its ports. A sender on
    several switches may use any, so its part is reserved in full at each. What the fabric does not
    have is left out.
    """
    ends = _ends(spec, fabric, hints=0)
    problems = _problems(spec, fabric, *ends, hints=0)
    sources, destinations = (end.nics for end in ends)
    if not _pairs(sources, destinations):
        return Expansion(Reach(name, frozenset()), (), problems)
    flows: tuple[PinnedFlow, ...] = ()
    if _count(spec, fabric, sources, destinations) <= MAX_FLOWS:
        flows = tuple(_flows(name, spec, fabric, _parts(spec, sources, destinations)))
    return Expansion(Reach(name, sources, destinations), flows, problems)


def _ends(spec: PointToPoint, fabric: Fabric, hints: int) -> tuple[Selection, Selection]:
    return (
        choose("source", spec.source, fabric, hints),
        choose("destination", spec.destination, fabric, hints),
    )


def _problems(
    spec: PointToPoint, fabric: Fabric, source: Selection, destination: Selection, hints: int
) -> tuple[Problem, ...]:
    problems = [*source.problems, *destination.problems]
    ends = source.nics, destination.nics
    pairs = _pairs(*ends)
    if not problems and not pairs:
        only = ", ".join(source.nics) or "no NIC"
        problems.append(Problem("destination", f"is {only}, as is the source; choose another"))
    problems += _names(spec, fabric, hints)
    quantities = list(_quantities(spec))
    problems += quantities
    flows = _count(spec, fabric, *ends)
    if flows > MAX_FLOWS:
        fault = (
            f"makes {flows} flows of {pairs} pairs of NICs; an intent has at most {MAX_FLOWS}: "
            "choose fewer NICs or UDP source ports, or make several intents of it"
        )
        problems.append(Problem("", fault))
    elif pairs and not quantities:
        problems += _line_rates(spec, fabric, _parts(spec, *ends))
    return tuple(problems)


def _pairs(sources: frozenset[str], destinations: frozenset[str]) -> int:
    return len(sources) * len(destinations) - len(sources & destinations)


def _count(
    spec: PointToPoint, fabric: Fabric, sources: frozenset[str], destinations: frozenset[str]
) -> int:
    """How many flows there are, if those that are asked for twice are counted twice."""

    def sent(senders: Collection[str], receivers: Collection[str]) -> int:
        return sum(
            len(fabric.nic_by_id[nic].attachment_set) * (len(receivers) - (nic in receivers))
            for nic in senders
        )

    flows = sent(sources, destinations)
    if spec.bidirectional:
        flows += sent(destinations, sources)
    return flows * max(1, len(spec.udp_source_ports))


def _parts(
    spec: PointToPoint, sources: frozenset[str], destinations: frozenset[str]
) -> Mapping[tuple[str, str], float]:
    """Rate of each sender and receiver; what both directions ask for of the same two adds up."""
    part = spec.rate_bps / _pairs(sources, destinations)
    rates: dict[tuple[str, str], float] = defaultdict(float)
    for source in sorted(sources):
        for destination in sorted(destinations):
            if source != destination:
                rates[source, destination] += part
                if spec.bidirectional:
                    rates[destination, source] += part
    return rates


def _flows(
    name: str, spec: PointToPoint, fabric: Fabric, parts: Mapping[tuple[str, str], float]
) -> Iterator[PinnedFlow]:
    ports = sorted(spec.udp_source_ports) or [0]
    traffic_class = spec.traffic_class
    if traffic_class not in (each.name for each in fabric.classes):
        traffic_class = fabric.default_class.name
    names = _nameable(fabric)
    include = tuple(name for name in spec.include if name in names)
    avoid = tuple(name for name in spec.avoid if name in names)
    rest = spec.protection, spec.priority, spec.on_shortage
    # The loop below makes thousands, and asks for the switches of each NIC as often.
    switches = {
        nic: fabric.nic_by_id[nic].attachment_set for nic in {nic for pair in parts for nic in pair}
    }
    for (source, destination), rate_bps in sorted(parts.items()):
        egress = switches[destination]
        part = rate_bps / len(ports)
        asked = egress, traffic_class, part, spec.max_latency_s, include, avoid, *rest
        for ingress in switches[source]:
            for port in ports:
                yield PinnedFlow(FlowId(name, source, destination, ingress, port), *asked)


def _names(spec: PointToPoint, fabric: Fabric, hints: int) -> Iterator[Problem]:
    """What of the class, include and avoid does not exist or contradicts itself."""
    classes = [each.name for each in fabric.classes]
    if spec.traffic_class and spec.traffic_class not in classes:
        yield Problem(
            "traffic_class", _unknown("traffic class", spec.traffic_class, classes, fabric)
        )
    names = _nameable(fabric)
    for field, given in (("include", spec.include), ("avoid", spec.avoid)):
        yield from _twice(field, given)
        for i, name in enumerate(given):
            if name not in names:
                known = names if hints > 0 else ()
                hints -= 1
                what = "switch, link or shared risk group"
                yield Problem(f"{field}[{i}]", _unknown(what, name, known, fabric))
    included = set(spec.include)
    for i, name in enumerate(spec.avoid):
        if name in included:
            fault = f"{name!r} is in include, too; keep one of the two"
            yield Problem(f"avoid[{i}]", fault)


def _nameable(fabric: Fabric) -> frozenset[str]:
    """What include and avoid may name."""
    return frozenset(
        (
            *fabric.switch_by_name,
            *(link.name for link in fabric.links),
            *(srlg for link in fabric.links for srlg in link.srlgs),
        )
    )


def _quantities(spec: PointToPoint) -> Iterator[Problem]:
    if not 0 <= spec.rate_bps < math.inf:
        fault = f"{spec.rate_bps:g} is no rate; give bits per second, 0 to reserve nothing"
        yield Problem("rate_bps", fault)
    if spec.max_latency_s is not None and not 0 < spec.max_latency_s < math.inf:
        fault = f"{spec.max_latency_s:g} is no latency; give seconds, or leave it out for any"
        yield Problem("max_latency_s", fault)
    for i, port in enumerate(spec.udp_source_ports):
        if not 0 < port < 1 << 16:
            fault = f"{port} is no UDP port; they go from 1 to 65535"
            yield Problem(f"udp_source_ports[{i}]", fault)
    yield from _twice("udp_source_ports", spec.udp_source_ports)


def _line_rates(
    spec: PointToPoint, fabric: Fabric, parts: Mapping[tuple[str, str], float]
) -> Iterator[Problem]:
    """What no network could carry, since a NIC could not."""
    if spec.on_shortage is OnShortage.DEGRADE:
        return
    sent: dict[str, float] = defaultdict(float)
    received: dict[str, float] = defaultdict(float)
    for (source, destination), rate_bps in parts.items():
        sent[source] += rate_bps
        received[destination] += rate_bps
    for rates, verb in ((sent, "send"), (received, "receive")):
        over = [
            n for n, bps in rates.items() if bps > fabric.nic_by_id[n].capacity_bps * (1 + 1e-9)
        ]
        if over:
            nic = min(over)
            more = f" (and {len(over) - 1} other NICs more than theirs)" if over[1:] else ""
            fault = (
                f"{nic} would {verb} {words.rate(rates[nic])} over its "
                f"{words.rate(fabric.nic_by_id[nic].capacity_bps)}{more}; ask for less, or "
                "choose more NICs"
            )
            yield Problem("rate_bps", fault)


def _twice(field: str, given: Sequence[object]) -> Iterator[Problem]:
    seen: set[object] = set()
    for i, item in enumerate(given):
        if item in seen:
            yield Problem(f"{field}[{i}]", f"{item!r} is here twice; keep one")
        seen.add(item)


def _unknown(kind: str, name: str, known: Collection[str], fabric: Fabric) -> str:
    return f"fabric {fabric.name!r} has no {kind} {name!r}{did_you_mean(name, known)}"

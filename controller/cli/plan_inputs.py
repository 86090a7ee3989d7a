"""What ``heald plan FILE`` plans: topology, intents and demands from files, checked together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import click

from controller.cli.intent_files import mistakes_of, open_intents, placed
from controller.cli.topology_file import read_file
from controller.emulator import demand_file
from controller.emulator.headers import UDP
from controller.emulator.routes import Demand as Traffic
from controller.fabric.errors import TopologyErrors
from controller.fabric.load import load
from controller.fabric.model import Fabric
from controller.intents.demands import DemandKey, Demands
from controller.intents.expand import connectivity, demands_of
from controller.intents.kinds import expand
from controller.northbound import validate
from controller.northbound.errors import ServiceError
from heald.v1 import intents_pb2 as pb


class PlanInputError(Exception):
    """All that is wrong, a line each."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """``said`` tells where the demands are from, ``by_intents`` whether intents say who may talk.

    Of the traffic in a file, ``local_bps`` meets in one switch, ``pinned_bps`` goes by paths that
    an intent has reserved, and ``stray_bps`` is let through by none; ``demands`` has none of these.
    """

    fabric: Fabric
    demands: Demands
    said: str
    by_intents: bool = False
    local_bps: float = 0.0
    pinned_bps: float = 0.0
    stray_bps: float = 0.0


def read(topology: str, traffic: str | None, intents: Sequence[str]) -> Inputs:
    """Raises PlanInputError. Without intents everybody may talk to everybody; without a file of
    traffic rates are those that a controller assumes before it has measured any."""
    errors: list[str] = []
    documents = [open_intents(name) for name in intents]
    mistakes = sorted(mistakes_of(documents))
    errors += map(str, mistakes)
    text = _text(traffic, errors) if traffic is not None else None
    shown = "<stdin>" if topology == "-" else click.format_filename(topology)
    try:
        fabric = load(read_file(topology, shown), shown)
    except TopologyErrors as problems:
        raise PlanInputError("\n".join([str(problems), *errors])) from None
    given: Sequence[Traffic] = ()
    if text is not None:
        try:
            given = demand_file.parse(text, str(traffic), fabric)
        except demand_file.DemandError as error:
            errors.append(str(error))
    demands = None
    batch = [message for document in documents for message in document.intents]
    if documents and not batch and not mistakes:
        errors.append(f"{', '.join(intents)}: no intent; add one to `intents`")
    if batch and not mistakes:
        try:
            drafts = validate.drafts_of(pb.ApplyRequest(intents=batch), fabric)
        except ServiceError as error:
            wrong = [placed(v.field, v.description, documents) for v in error.violations]
            errors += map(str, sorted(wrong))
        else:
            found = [expand(draft.name, draft.spec, fabric) for draft in drafts]
            flows = [flow for each in found for flow in each.flows]
            demands = demands_of(fabric, [each.reach for each in found], flows)
    if errors:
        raise PlanInputError("\n".join(errors))
    if text is None:
        if demands is not None:
            return Inputs(fabric, demands, f"{', '.join(intents)}, NICs at line rate", True)
        everyone = {"all": frozenset(nic.id for nic in fabric.nics)}
        return Inputs(fabric, connectivity(fabric, everyone), "all NICs to all, at line rate")
    return _measured(fabric, given, demands, str(traffic))


def _text(name: str, errors: list[str]) -> str | None:
    try:
        with click.open_file(name, encoding="utf-8") as stream:
            return str(stream.read())
    except OSError as error:
        errors.append(f"{name}: cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        errors.append(f"{name}: no text in UTF-8")
    return None


def _measured(
    fabric: Fabric, given: Sequence[Traffic], allowed: Demands | None, said: str
) -> Inputs:
    pins = _pins(allowed) if allowed is not None else {}
    peers = _peers(allowed) if allowed is not None else None
    rate: dict[DemandKey, float] = defaultdict(float)
    local = pinned = stray = 0.0
    for each in given:
        ports = pins.get((each.source, each.target), frozenset())
        if 0 in ports or (each.protocol == UDP and each.source_port in ports):
            pinned += each.rate_bps
            continue
        if peers is not None and not any(each.target in some for some in peers[each.source]):
            stray += each.rate_bps
            continue
        near, far = (fabric.nic_by_id[nic].attachment_set for nic in (each.source, each.target))
        for ingress in near:
            if ingress in far:
                local += each.rate_bps / len(near)
            else:
                key = DemandKey(ingress, far, _class(fabric, each.dscp))
                rate[key] += each.rate_bps / len(near)
    if allowed is None:
        keys = tuple(sorted(rate))
        demands = Demands(0, (), keys, tuple(rate[k] for k in keys))
        return Inputs(fabric, demands, said, False, local)
    rates = tuple(rate.get(key, 0.0) for key in allowed.keys)
    demands = replace(allowed, rate_bps=rates)
    return Inputs(fabric, demands, said, True, local, pinned, stray)


def _peers(demands: Demands) -> Mapping[str, list[frozenset[str]]]:
    """Whom the intents let each NIC talk to."""
    found: dict[str, list[frozenset[str]]] = defaultdict(list)
    for reach in demands.reaches:
        for side in reach.sides:
            for nic in side.nics:
                found[nic].append(side.peers)
    return found


def _pins(demands: Demands) -> Mapping[tuple[str, str], frozenset[int]]:
    """UDP source ports of the flows with paths of their own, by NICs; 0 stands for all traffic."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for flow in demands.flows:
        found[flow.id.source, flow.id.destination].add(flow.id.udp_source_port)
    return {ends: frozenset(ports) for ends, ports in found.items()}


def _class(fabric: Fabric, dscp: int) -> str:
    return next((c.name for c in fabric.classes if c.dscp == dscp), fabric.default_class.name)

"""Link state from counters: what links carry, and how much of that is not Heald's.

Port counters are exact and immediate; counters of groups lag, because a software switch credits
them only when it revalidates its flows. So a difference of the two is believed only as far as it
exceeds what that lag explains, and several windows are compared: short ones react, long ones are
precise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey
from controller.telemetry.counters import Rates
from controller.telemetry.link_state import Bools, Floats, LinkState

WINDOWS_S = (2.0, 4.0, 8.0)
LAG_S = 0.5
NOISE_FLOOR = 0.02
USABLE_FLOOR = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """``carried_bps[A]`` of ports and ``own_bps[A]`` of Heald's traffic over the same window."""

    window_s: float
    carried_bps: Floats
    own_bps: Floats


def carried(
    fabric: Fabric, sent_bytes: Mapping[str, Rates], window_s: float, skip: int = 0
) -> Floats:
    """Average bits per second that each arc's port sent, ``[A]``; 0 where there is no reading.

    ``sent_bytes[switch]`` counts by (port,). ``skip`` as in ``Rates.average``.
    """
    average = {name: rates.average(window_s, skip) for name, rates in sent_bytes.items()}
    return np.array(
        [8 * average.get(a.tail.switch, {}).get((a.tail.port,), 0.0) for a in fabric.arcs]
    )


def settled(
    fabric: Fabric, sent_bytes: Mapping[str, Rates], window_s: float, own_bps: Floats
) -> Averages:
    """Averages in which own traffic that has just begun does not look foreign.

    What a port carries is the lesser of the window up to now and the one a reading earlier, which
    group counters have caught up with.
    """
    now = carried(fabric, sent_bytes, window_s)
    covered_s = min((rates.history_s for rates in sent_bytes.values()), default=0.0)
    return Averages(
        min(window_s, covered_s),
        np.minimum(now, carried(fabric, sent_bytes, window_s, skip=1)),
        own_bps,
    )


def own_load(
    fabric: Fabric,
    next_ports: Mapping[tuple[AttachmentSet, int], Mapping[str, int]],
    bucket_bps: Mapping[tuple[DemandKey, int], float],
) -> Floats:
    """Load of each arc, ``[A]``, when the ingress buckets send ``bucket_bps[demand, tree id]``.

    ``next_ports[egress, tree id]`` is the way of each tree. Rates of trees that are not there
    (any more) and what follows a port without a link count nowhere.
    """
    ports = {(a.tail.switch, a.tail.port): a for a in fabric.arcs}
    total = np.zeros(len(fabric.arcs))
    for (key, tree), bps in bucket_bps.items():
        if not bps:
            continue
        way = next_ports.get((key.egress, tree), {})
        at = key.ingress
        for _ in range(len(way)):
            arc = ports.get((at, way[at])) if at in way else None
            if arc is None:
                break
            total[arc.index] += bps
            at = arc.head.switch
    return total


def foreign_load(fabric: Fabric, averages: Sequence[Averages]) -> Floats:
    """What arcs carry beyond own traffic, ``[A]``: the most that any window proves."""
    capacity = np.array([arc.capacity_bps for arc in fabric.arcs])
    proven = np.zeros(len(capacity))
    for each in averages:
        if each.window_s > LAG_S:
            own_at_most = each.own_bps * each.window_s / (each.window_s - LAG_S)
            proven = np.maximum(proven, each.carried_bps - own_at_most)
    return np.where(proven < NOISE_FLOOR * capacity, 0.0, np.minimum(proven, capacity))


def link_state(
    fabric: Fabric,
    version: int,
    time_s: float,
    up: Bools,
    carried_bps: Floats,
    averages: Sequence[Averages],
    dropped_pps: Floats,
) -> LinkState:
    """The snapshot at ``time_s``; without ``averages`` all capacity counts as usable."""
    capacity = np.array([arc.capacity_bps for arc in fabric.arcs])
    foreign = foreign_load(fabric, averages)
    usable = np.where(up, np.maximum(capacity - foreign, USABLE_FLOOR * capacity), 0.0)
    measured_at = np.full(len(capacity), time_s)
    return LinkState(version, up.copy(), usable, carried_bps, foreign, dropped_pps, measured_at)

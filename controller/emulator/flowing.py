"""How fast everything flows along the paths of a network, and what of it switches count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controller.emulator.counting import Counters
from controller.emulator.path_table import FATES, LaneTable, PathTable
from controller.emulator.routes import Fate
from controller.emulator.sharing import Bools, Floats, Flows, Ints, levels, summed

DELIVERED = FATES.index(Fate.DELIVERED)


@dataclass(frozen=True, slots=True, eq=False)
class Flowing:
    """All rates, until something changes. ``served`` and ``arrived`` are behind and in front of
    each lane of each path, ``[S, H]``; ``past[S, H]`` is behind its wire, ``end[S]`` behind the
    last."""

    arrived: Floats
    served: Floats
    past: Floats
    end: Floats
    by_lane: Floats
    full: Bools


def flow(
    paths: PathTable, lane_table: LaneTable, weight: Floats, rate: Floats, adapts: Bools
) -> Flowing:
    """``weight``, ``rate`` (bits per second) and ``adapts`` are those of the demands, ``[D]``."""
    loss = np.append(lane_table.loss(), 0.0)
    lossy = bool(loss.any())
    passes = np.ones(paths.lane.shape, order="F")
    part = np.ones(paths.lane.shape, order="F")
    if lossy:
        np.multiply.accumulate(1.0 - loss[paths.lane], axis=1, out=passes)
        part[:, 1:] = passes[:, :-1]
    adapting = adapts[paths.demand]
    weights = weight[paths.demand] * paths.share
    offered = rate[paths.demand] * paths.share
    # Nothing comes back from where these end, so a sender that adapts stops.
    offered = np.where(adapting & (paths.fate != DELIVERED), 0.0, offered)
    level, full = levels(lane_table.lanes(), Flows(paths.lane, weights, offered, part, adapting))
    scale = np.where(paths.lane >= 0, part, 0.0)
    scale *= weights[:, None]
    served = scale * level
    arrived = np.empty_like(level)
    arrived[:, 0] = np.where(adapting, level[:, -1], offered / weights)
    arrived[:, 1:] = level[:, :-1]
    arrived *= scale
    past = served * (1.0 - loss[paths.lane]) if lossy else served
    end = weights * passes[:, -1] * level[:, -1]
    by_lane = _summed(paths.lane, served, len(lane_table))
    return Flowing(arrived, served, past, end, by_lane, np.isfinite(full))


def count(
    paths: PathTable,
    lane_table: LaneTable,
    counters: Counters,
    flowing: Flowing,
    frame_bits: Floats,
) -> None:
    """Let everything that counts advance so; ``frame_bits[D]`` is the size of a frame."""
    lanes = len(lane_table)
    sent, dropped, received = lane_table.counters()
    ends_dead = np.flatnonzero(paths.dead >= 0)
    numbers = np.concatenate([sent[1], dropped[1], received[1], paths.dead[ends_dead]])
    lossy = flowing.past is not flowing.served
    rates = []
    for unit in (np.full(len(paths.demand), 1 / 8), 1 / frame_bits[paths.demand]):
        served = flowing.served * unit[:, None]
        past = flowing.past * unit[:, None] if lossy else served
        of_lane = _summed(paths.lane, served, lanes)
        over = _summed(paths.lane, past, lanes) if lossy else of_lane
        missing = _summed(paths.lane, (flowing.arrived - flowing.served) * unit[:, None], lanes)
        beside = np.concatenate(
            [
                of_lane[sent[0]],
                np.maximum(missing, 0.0)[dropped[0]],
                over[received[0]],
                (flowing.end * unit)[ends_dead],
            ]
        )
        of_counter = _summed(paths.first, past, counters.count)
        of_counter += summed(numbers, beside, counters.count)
        rates.append((_summed(paths.way, past, counters.way_count), of_counter))
    counters.set_rates(rates[0], rates[1])


def _summed(index: Ints, values: Floats, count: int) -> Floats:
    """As :func:`summed`, of tables of which -1 is no index and has no value."""
    return summed((index.T + 1).ravel(), values.T.ravel(), count + 1)[1:]

"""Equal flows on a Clos fabric: placement as edge colouring.

In a leaf-spine each leaf is two vertices, one that sends and one that receives, a flow is an edge,
and a spine with room for n flows on each link is n colours: a proper colouring is a placement that
fits (Koenig: one exists wherever degrees allow it, and chains of two colours find it). Links that
failed, or have less room than others, are colours that a vertex lacks; then it is a list colouring,
where what chains cannot settle takes its colour from others. In a fat-tree the planes are coloured
first, between edge switches, and then the cores of each plane, between pods.
"""

from __future__ import annotations

import numpy as np

from controller.optimizer.clos import Clos
from controller.optimizer.kernels import colouring as kernels
from controller.optimizer.placement import Routes
from controller.optimizer.problem import Ints

EVICTIONS_A_FLOW = 2
TRIES = 2


def place_equal(clos: Clos, source: Ints, target: Ints, room: Ints, seed: int) -> Routes:
    """Routes from ``source[F]`` to ``target[F]`` (nodes) of which at most ``room[A]`` share an arc.

    Flows for which none is found are not placed. Flows that stay where they are have no arcs.
    """
    u, v = clos.edge[source], clos.edge[target]
    moves = np.flatnonzero(u != v)
    best = None
    for attempt in range(TRIES):
        legs = _legs(clos, u[moves], v[moves], room, seed + attempt)
        if best is None or (legs[:, 0] >= 0).sum() > (best[:, 0] >= 0).sum():
            best = legs
        if (best[:, 0] >= 0).all():
            break
    assert best is not None
    everywhere = np.full((len(u), 4), -1, np.int32)
    everywhere[moves] = best
    used = everywhere >= 0
    first = np.append(0, np.cumsum(used.sum(1)))
    return Routes(first, everywhere[used], (u == v) | used[:, 0])


def _legs(clos: Clos, u: Ints, v: Ints, room: Ints, seed: int) -> Ints:
    """Arcs up, to the core, from the core, down, ``[F, 4]``: -1 where there is none to take."""
    legs = np.full((len(u), 4), -1, np.int32)
    plane = _colour(u, v, _room(clos.up, room), _room(clos.down, room), seed)
    a, b = clos.pod[u], clos.pod[v]
    placed = plane >= 0
    legs[placed, 0] = clos.up[u[placed], plane[placed]]
    legs[placed, 3] = clos.down[v[placed], plane[placed]]
    far = np.flatnonzero((a != b) & placed)
    for p in np.unique(plane[far]).tolist():
        own = far[plane[far] == p]
        cores = np.flatnonzero(clos.plane == p)
        to_core, from_core = clos.to_core[:, cores], clos.from_core[:, cores]
        core = _colour(a[own], b[own], _room(to_core, room), _room(from_core, room), seed + p)
        found = core >= 0
        legs[own[~found]] = -1
        own, core = own[found], core[found]
        legs[own, 1] = to_core[a[own], core]
        legs[own, 2] = from_core[b[own], core]
    return legs


def _room(arcs: Ints, room: Ints) -> Ints:
    return np.where(arcs >= 0, room[arcs], 0)


def _colour(u: Ints, v: Ints, room_up: Ints, room_down: Ints, seed: int) -> Ints:
    """A column for each edge (u, v), -1 where none was found; row u of ``room_up`` says how often u
    may have each column, and so for v."""
    sends, receives = np.bincount(u), np.bincount(v)
    rows, columns = len(room_up), room_up.shape[1]
    most = int(max(sends.max(initial=0), receives.max(initial=0)))
    slots = min(most, int(max(room_up.max(initial=0), room_down.max(initial=0))))
    if not len(u) or not slots:
        return np.full(len(u), -1, np.int32)
    ordinal = np.arange(slots)[None, :, None]
    room = np.concatenate((room_up, room_down))
    taken = np.where(ordinal < room[:, None, :], kernels.FREE, kernels.FORBIDDEN)
    holder = taken.reshape(2 * rows, slots * columns).astype(np.int32)
    full_up = sends[u] / np.maximum(1, room_up.sum(1))[u]
    full_down = receives[v] / np.maximum(1, room_down.sum(1))[v]
    order = np.argsort(-np.maximum(full_up, full_down), kind="stable")
    colour = kernels.colour(
        u, (v + rows).astype(np.int32), holder, order, seed, EVICTIONS_A_FLOW * len(u)
    )
    return np.where(colour >= 0, colour % columns, -1).astype(np.int32)

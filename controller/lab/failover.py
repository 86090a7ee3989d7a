"""How long it takes from the loss of a link until the last switch has confirmed other weights."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import heald
from controller.fabric.model import Fabric
from controller.lab.emulated import EmulatedLab
from controller.lab.errors import LabError
from controller.lab.large import INTENT, Progress, processes, usages, wait_state
from controller.lab.session import LabController
from heald.v1 import intents_pb2

WARM_UP = 4
"""Links that are cut before anything is measured."""
PAUSE_S = 1.0, 5.0
"""Between two losses: a random time, so that they meet all that goes on in the background."""
HEARD_S = 5.0
"""What the brain has not heard of by then it has nothing to do about; it hears within 60 ms."""
GIVE_UP_S = 20.0


@dataclass(frozen=True, slots=True)
class Loss:
    """One link. ``heard_s``: from its loss until the brain knew. ``gathered_s``, ``planned_s``,
    ``stored_s`` and ``installed_s`` follow each other; ``total_s`` is their sum. ``optimised_s``:
    from the loss until the background's answer to what is best now; 0 when the next loss came
    first."""

    link: str
    total_s: float
    heard_s: float
    gathered_s: float
    planned_s: float
    stored_s: float
    installed_s: float
    optimised_s: float
    switches: int
    messages: int


@dataclass(frozen=True, slots=True)
class FailoverReport:
    """Percentiles in seconds. ``stage_s``: mean of each step. ``idle_links``: lost without traffic
    planned over them, so that nothing was to do. ``cpu_s``: of each process, for each loss."""

    fabric: str
    switches: int
    cpus: int
    metrics: bool
    links: int
    idle_links: int
    p50_s: float
    p99_s: float
    max_s: float
    messages: float
    messages_max: int
    optimised_p50_s: float
    optimised_max_s: float
    stage_s: Mapping[str, float]
    cpu_s: Mapping[str, float]
    losses: Sequence[Loss]


def measure(
    topology: Path,
    links: int,
    seed: int,
    metrics: bool,
    timeout_s: float,
    progress: Progress,
    pause_s: tuple[float, float] = PAUSE_S,
) -> FailoverReport:
    """Cuts ``links`` cables between switches of an emulated fabric, one after the other. Raises
    LabError when something does not come up within ``timeout_s``, or a loss is not answered."""
    deadline = time.monotonic() + timeout_s
    with EmulatedLab(topology) as lab:
        chance = random.Random(seed)
        chosen = _chosen(lab.fabric, links + WARM_UP, chance)
        options = [*lab.controller_options, *([] if metrics else ["--fabric-nometrics"])]
        with LabController.start(lab, options=options) as controller:
            controller.wait_ready(max(1.0, deadline - time.monotonic()))
            progress(f"{len(lab.fabric.switches)} switches connected")
            with controller.client() as client:
                client.apply([heald.connectivity(INTENT, all=True)])
                wait_state(client, intents_pb2.ACTIVE, controller, deadline)
                progress("installed")
                losses, cpu_s = _cut(lab, controller, client, chosen, chance, pause_s, progress)
    return _report(lab.fabric, metrics, losses, links, cpu_s)


def _cut(
    lab: EmulatedLab,
    controller: LabController,
    client: heald.Client,
    chosen: list[str],
    chance: random.Random,
    pause_s: tuple[float, float],
    progress: Progress,
) -> tuple[list[Loss], Mapping[str, float]]:
    """The losses that something was to be done about, and CPU seconds for each link; the first few
    of those ``chosen`` are to warm up."""
    links = len(chosen) - WARM_UP
    for link in chosen[:WARM_UP]:
        _lose(lab, client, link, pause_s[0])
    progress("warmed up")
    pids = {**processes(controller, client.status()), **lab.processes}
    before = usages(pids)
    losses = []
    for number, link in enumerate(chosen[WARM_UP:], 1):
        loss = _lose(lab, client, link, chance.uniform(*pause_s))
        if loss is not None:
            losses.append(loss)
            progress(
                f"{number} of {links}: {link}: {loss.total_s * 1e3:.0f} ms, {loss.messages} "
                f"messages to {loss.switches} switches"
            )
    after = usages(pids)
    cpu_s = {name: (after[name].cpu_s - used.cpu_s) / links for name, used in before.items()}
    return losses, cpu_s


def _chosen(fabric: Fabric, count: int, chance: random.Random) -> list[str]:
    """Of each kind of link (by the roles of its ends) as many, in random order."""
    kinds: dict[frozenset[str], list[str]] = {}
    for link in fabric.links:
        ends = (fabric.switch_by_name[end.switch].role for end in (link.a, link.b))
        kinds.setdefault(frozenset(ends), []).append(link.name)
    if count > len(fabric.links) // 2:
        raise LabError(f"{fabric.name} has {len(fabric.links)} links: cut at most half of them")
    for names in kinds.values():
        chance.shuffle(names)
    out: list[str] = []
    while len(out) < count:
        out += [names.pop() for names in kinds.values() if names]
    return out[:count]


def _lose(lab: EmulatedLab, client: heald.Client, link: str, pause_s: float) -> Loss | None:
    """None where nothing was to do: no ingress had weight over it."""
    began = time.time()
    lab.command(f"link {link} down")
    while time.time() < began + GIVE_UP_S:
        # Nobody asks meanwhile: it would be answered by the process that is measured.
        time.sleep(pause_s)
        newest: Any = client.status().repairs[-1:]
        heard_s = newest[0].heard_time.ToNanoseconds() / 1e9 - began if newest else -1.0
        if heard_s < 0.0:
            if time.time() < began + HEARD_S:
                continue
            return None
        repair = newest[0]
        if repair.installed_s or (repair.stored_s and not repair.messages):
            steps = repair.gathered_s, repair.planned_s, repair.stored_s, repair.installed_s
            optimised_s = heard_s + repair.optimised_s if repair.optimised_s else 0.0
            total_s = heard_s + sum(steps)
            sent = repair.switches, repair.messages
            return Loss(link, total_s, heard_s, *steps, optimised_s, *sent)
    raise LabError(f"The loss of {link} is not answered within {GIVE_UP_S:g} s")


def _report(
    fabric: Fabric, metrics: bool, losses: list[Loss], links: int, cpu_s: Mapping[str, float]
) -> FailoverReport:
    if not losses:
        raise LabError("No traffic was planned over any of the links")
    total = [loss.total_s for loss in losses]
    optimised = [loss.optimised_s for loss in losses if loss.optimised_s] or [0.0]
    stages = ("heard_s", "gathered_s", "planned_s", "stored_s", "installed_s")
    return FailoverReport(
        fabric.name,
        len(fabric.switches),
        len(os.sched_getaffinity(0)),
        metrics,
        links,
        links - len(losses),
        # No value between two that were measured.
        float(np.percentile(total, 50, method="higher")),
        float(np.percentile(total, 99, method="higher")),
        max(total),
        float(np.mean([loss.messages for loss in losses])),
        max(loss.messages for loss in losses),
        float(np.percentile(optimised, 50, method="higher")),
        max(optimised),
        {name: float(np.mean([getattr(loss, name) for loss in losses])) for name in stages},
        cpu_s,
        losses,
    )

"""``heald plan FILE``: plans without a controller."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from controller.cli import plan_report, plan_tables, render
from controller.cli.plan_inputs import PlanInputError, read
from controller.cli.topology_show import alone_on_output, write
from controller.engine import offline
from controller.fabric.survey.svg import svg as as_svg
from controller.optimizer import kernels
from controller.optimizer.warm import warm_up

MANY = 5_000
"""Demands, or flows with paths of their own, that are planned long enough to tell how far it is."""


class Stages:
    """Seconds that each stage has taken; the next one ends it. Long work is told of on standard
    error, if ``loud``."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.loud = False
        self._began = self._since = time.monotonic()
        self._stage = ""

    def tell(self, stage: str) -> None:
        now = time.monotonic()
        self._end(now)
        self._stage = stage
        if self.loud:
            click.echo(f"{now - self._began:6.1f} s  {stage}", err=True)

    def _end(self, now: float) -> None:
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._since = now

    def end(self) -> None:
        self._end(time.monotonic())
        self._stage = ""


def plan_file(
    file: str,
    demands: str | None,
    intents: Sequence[str],
    strategies: Sequence[str],
    compare: str,
    links: int,
    svg: str | None,
    as_json: bool,
) -> None:
    """Plan by the first of ``strategies``, beside ``compare`` and the others; print or draw it."""
    alone_on_output(svg, "-" if as_json else None)
    stages = Stages()
    stages.tell("reading files")
    try:
        inputs = read(file, demands, intents)
    except PlanInputError as errors:
        click.echo(str(errors), err=True)
        sys.exit(render.EXIT_WRONG_INPUT)
    fabric = inputs.fabric
    work = len(inputs.demands.keys) + len(inputs.demands.flows)
    stages.loud = work > MANY or not kernels.is_complete()
    stages.tell("loading kernels" if kernels.is_complete() else "compiling kernels")
    warm_up()
    names = list(dict.fromkeys([*(strategies or [fabric.strategy]), compare]))
    with _failures():
        study = offline.study(fabric, inputs.demands, names, stages.tell)
    stages.end()
    report = plan_report.report(inputs, study, compare, stages.seconds)
    if svg is not None:
        used: dict[str, float] = {}
        for arc, load in zip(fabric.arcs, study.outcomes[0].load_bps.tolist(), strict=True):
            used[arc.link] = max(used.get(arc.link, 0.0), load / arc.capacity_bps)
        write(svg, as_svg(fabric, used).encode())
    if as_json:
        click.echo(json.dumps(report, indent=2))
    elif svg != "-":
        plan_tables.show(report, links)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        click.echo(f"heald: {error}", err=True)
        sys.exit(render.EXIT_FAILED)

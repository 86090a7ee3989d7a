"""A second solver is asked about one plan at a time, and only about those it can know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from controller.brain import brain as room
from controller.brain.brain import Brain
from controller.engine.commands import PlanKind, PlanRequest
from controller.engine.planning import make_plan
from controller.engine.proving import Doubt
from tests.dataplane import fabrics
from tests.engine.test_worth import healthy


class Slow:
    """A second solver that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[object]] = []

    async def ask(self, function: Callable[..., object], doubt: Doubt) -> object:
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]


async def test_one_plan_at_a_time_is_doubted_and_none_of_another_fabric(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "DOUBT_PAUSE_S", 0.0)
    fabric = fabrics.leaf_spine(2, 2, 1)
    asked, state = fabrics.demands(fabric), healthy(fabric)
    plan = make_plan(fabric, asked, state, None, plan_id=1)
    plan = replace(plan, certificate=replace(plan.certificate, solver="descent"))
    request = PlanRequest(
        1, PlanKind.OPTIMISE, "auto", fabric, asked, state, None, True, False, 0.0
    )
    engine = SimpleNamespace(fabric=fabric, handle=lambda event, now: [])
    second, none = Slow(), cast(Any, None)
    brain = Brain(
        cast(Any, engine),
        book=none,
        wanted=none,
        drains=none,
        store=none,
        plan_key="",
        epoch=1,
        fast=none,
        proof=none,
        second=cast(Any, second),
        ovsdb=none,
    )
    brain._doubt(replace(request, fabric=replace(fabric)), plan)
    await asyncio.sleep(0)
    assert not second.asked
    for _ in range(3):
        brain._doubt(request, plan)
        await asyncio.sleep(0.01)
    assert len(second.asked) == 1
    second.asked[0].set_result(None)
    await asyncio.sleep(0.01)
    brain._doubt(request, plan)
    await asyncio.sleep(0.01)
    assert len(second.asked) == 2
    brain.stop()

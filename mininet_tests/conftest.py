"""Fixtures of the lab tests: real Open vSwitch in private namespaces. Needs root."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from controller.fabric.model import Fabric
from controller.lab import requirements, rundir
from controller.lab.handle import Lab
from controller.lab.session import LabController

StartLab = Callable[..., Lab]
StartController = Callable[..., LabController]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("HEALD_LAB") == "skip":
        for item in items:
            if "start_lab" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason="HEALD_LAB=skip"))


@pytest.fixture(scope="session", autouse=True)
def _no_dead_labs() -> None:
    """What an earlier run left that was killed."""
    if requirements.missing() is None:
        rundir.remove_dead()


@pytest.fixture(scope="module")
def start_lab() -> Iterator[StartLab]:
    """``start_lab(fabric, ...)``: `Lab.start`, and the lab ends with the module's tests."""
    sentence = requirements.missing()
    if sentence is not None:
        pytest.fail(f"{sentence} (HEALD_LAB=skip leaves the lab tests out.)", pytrace=False)
    with ExitStack() as labs:

        def start(topology: Fabric | Path, **options: Any) -> Lab:
            return labs.enter_context(Lab.start(topology, **options))

        yield start


@pytest.fixture(scope="module")
def start_controller(start_lab: StartLab) -> Iterator[StartController]:
    """``start_controller(lab, ...)``: a ready `LabController` until the module's tests end."""
    with ExitStack() as controllers:

        def start(lab: Lab, **options: Any) -> LabController:
            controller = controllers.enter_context(LabController.start(lab, **options))
            controller.wait_ready()
            return controller

        yield start

"""Fixtures of the lab tests: real Open vSwitch in private namespaces. Needs root."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller.fabric.model import Fabric
from controller.lab import requirements, rundir
from controller.lab.handle import Lab

StartLab = Callable[..., Lab]


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
    labs: list[Lab] = []

    def start(fabric: Fabric, **options: Any) -> Lab:
        labs.append(Lab.start(fabric, **options))
        return labs[-1]

    try:
        yield start
    finally:
        for lab in labs:
            lab.close()

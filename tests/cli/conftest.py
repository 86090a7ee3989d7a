from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.northbound.harness import Served, served


@pytest.fixture
def north(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        yield running

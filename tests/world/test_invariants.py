"""What always holds, whatever fails and in whatever order things arrive.

``HEALD_SEEDS=1000-2000`` tries other seeds; those in ``seeds.txt``, which once failed, come first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world.seeds import numbers, rate, tell

SEEDS_FILE = Path(__file__).with_name("seeds.txt")
DEFAULT_SEEDS = "0-11"


def _seeds() -> Iterator[int]:
    for line in SEEDS_FILE.read_text().splitlines():
        number = line.partition("#")[0].strip()
        if number:
            yield int(number)
    yield from numbers(os.environ.get("HEALD_SEEDS", DEFAULT_SEEDS))


@pytest.mark.parametrize("seed", list(dict.fromkeys(_seeds())))
def test_always_true(seed: int) -> None:
    print(rate(*tell(seed)))

"""Which histories are told, and how fast: ``python -m tests.world.seeds 0-11`` prints it.

An event is one thing that the scheduler delivers: a piece of a byte stream to a switch or to the
session process, a message between that and the engine, a worker's answer, a timer. Seconds are
those of this process's CPU, planning, compiling and checking included.
"""

from __future__ import annotations

import random
import sys
import time
from functools import cache

from controller.fabric.model import Fabric
from tests.dataplane import fabrics
from tests.world.story import Story

_SMALL = [
    cache(lambda: fabrics.leaf_spine(3, 2, 1)),
    cache(lambda: fabrics.ring(4)),
    cache(lambda: fabrics.dual_homed(4, 2)),
    cache(fabrics.asymmetric),
    cache(lambda: fabrics.random_graph(random.Random(4), 5, 3)),
]
_fat_tree = cache(lambda: fabrics.fat_tree(4))


def network_of(seed: int) -> Fabric:
    """Plans of a fat-tree take as long as a whole history of one of the others."""
    return _fat_tree() if seed % 12 == 1 else _SMALL[seed % len(_SMALL)]()


def numbers(text: str) -> list[int]:
    """``3`` or ``3-7``."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def tell(seed: int) -> tuple[int, float]:
    """(Events, seconds of CPU), see ``told``."""
    begun = time.process_time()
    return told(seed).world.events, time.process_time() - begun


def told(seed: int) -> Story:
    """A whole history. AssertionError says what was not true, and how to see it again."""
    story = Story(network_of(seed), seed)
    try:
        story.tell()
    except Exception as error:
        raise AssertionError(
            f"seed {seed}: {error}\n"
            f"Once more: HEALD_SEEDS={seed} pytest tests/world -k 'true and {seed}'\n"
            "Keep the seed in tests/world/seeds.txt."
        ) from error
    return story


def rate(events: int, seconds: float) -> str:
    return f"{events} events in {seconds:.1f} s of CPU: {events / seconds:,.0f} a second"


def main() -> None:
    all_told = []
    for seed in numbers(sys.argv[1]):
        all_told.append(tell(seed))
        print(f"seed {seed}: {rate(*all_told[-1])}", flush=True)
    print(f"all: {rate(sum(e for e, _ in all_told), sum(s for _, s in all_told))}")


if __name__ == "__main__":
    main()

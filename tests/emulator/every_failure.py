"""Emulated switches carry frames under every set of up to three failures of a fat tree of k = 4:

    python -m tests.emulator.every_failure            all of it, some 45 minutes of CPU
    python -m tests.emulator.every_failure 1/2        the first of two parts
    python -m tests.emulator.every_failure --k 8 --sample 100

Prints what goes wrong, and ends with 1 if anything does.
"""

from __future__ import annotations

import random
import sys
import time

import click

from tests.emulator.test_failures import filled, wrong
from tests.engine.test_every_failure import LARGE, SEED, lost, up_to

_PROGRESS = 500


@click.command()
@click.argument("part", default="1/1")
@click.option("--k", type=click.Choice(["4", "8"]), default="4")
@click.option("--sample", type=int, help="Only so many of the sets, drawn at random.")
def main(part: str, k: str, sample: int | None) -> None:
    name = LARGE if k == "8" else "fat-tree k=4"
    fabric, net = filled(name)
    sets = up_to(fabric, 3)
    if sample is not None:
        sets = random.Random(SEED).sample(sets, sample)
    share, parts = map(int, part.split("/"))
    sets = sets[share - 1 :: parts]
    began_s, bad = time.process_time(), 0
    # A single failure excuses nobody.
    may_lose = lost(name, sets)
    for row, failed in enumerate(sets):
        several = len(failed) > 1
        excused = frozenset(p for p, rows in may_lose.items() if several and rows >> row & 1)
        for complaint in wrong(fabric, net, failed, excused):
            bad += 1
            print(complaint, flush=True)
        if row % _PROGRESS == _PROGRESS - 1:
            print(f"{(row + 1) / len(sets):.0%}", file=sys.stderr, flush=True)
    took_s = time.process_time() - began_s
    print(f"{name}, part {part}: {len(sets)} sets, {bad} complaints, {took_s:.0f} s of CPU")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()

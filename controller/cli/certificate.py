"""What a plan's certificate says beyond its worst link."""

from __future__ import annotations

from collections.abc import Iterator

from controller.cli import render
from heald.v1 import fabric_pb2 as pb

SHOWN = 6


def failure_line(name: str, mlu: float, bound: float, cut_off_bps: float) -> str:
    return (
        f"after any single failure: worst link {render.percent(mlu)} ({name}), "
        f"lower bound {render.percent(bound)}; "
        + (f"{render.bps(cut_off_bps)} cut off" if cut_off_bps else "none cut off")
    )


def more_lines(certificate: pb.Certificate) -> Iterator[str]:
    """Failures, churn and proof, a line each, as far as there is something to say."""
    worst = certificate.failure
    if worst.name:
        yield failure_line(worst.name, worst.mlu, worst.bound, worst.cut_off_bps)
    points = certificate.churn
    if len(points) > 1:
        step = max(1, -(-(len(points) - 1) // (SHOWN - 1)))
        shown = dict.fromkeys([*range(0, len(points), step), len(points) - 1])
        steps = " → ".join(
            f"{render.percent(points[i].moved)}: {render.percent(points[i].mlu)}" for i in shown
        )
        yield (
            f"hash slots moved: worst link, {steps}; "
            f"{render.percent(certificate.moved)} were worth it"
        )
    if certificate.proof:
        yield f"second solver: {certificate.proof}"

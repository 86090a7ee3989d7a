"""What is wrong between traffic classes, or between the keys of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller.fabric.build import BEST_EFFORT
from controller.fabric.document import Document
from controller.fabric.errors import Problem, twice
from controller.fabric.model import Provenance
from controller.fabric.quantities import share_text
from controller.fabric.schema import ClassSpec


def class_problems(document: Document, specs: Mapping[str, ClassSpec]) -> Iterator[Problem]:
    where = {name: document.where(("classes", name), key=True) for name in specs}
    yield from twice(
        (
            dscp,
            "the class of everything else (no dscp)" if dscp is None else f"DSCP {dscp}",
            where[name],
        )
        for name, spec in specs.items()
        for dscp in spec.dscp or (None,)
    )
    yield from twice((s.queue, f"queue {s.queue}", where[name]) for name, s in specs.items())
    for name, spec in specs.items():
        for text in _alone(spec):
            yield Problem(where[name], text)
    if all(spec.dscp is not None for spec in specs.values()):
        yield from _beside_everything_else(document, specs, where)
    # Fractions that are written in percent do not add up exactly.
    if sum(spec.share or 0.0 for spec in specs.values()) > 1 + 1e-9:
        given = {name: spec.share for name, spec in specs.items() if spec.share}
        each = ", ".join(f"{name} {share_text(part)}" for name, part in given.items())
        yield Problem(
            document.where(("classes",), key=True),
            f"guaranteed shares add up to {100 * sum(given.values()):g}% ({each}): a port has "
            "100%, lower some",
        )


def _alone(spec: ClassSpec) -> Iterator[str]:
    if not spec.ceiling:
        yield "ceiling 0% lets nothing through: raise it"
    elif spec.ceiling < (spec.share or 0.0):
        yield (
            f"ceiling {share_text(spec.ceiling)} is below share {share_text(spec.share or 0.0)}: "
            "raise it, or lower the share"
        )
    if spec.lossless and spec.dscp is None:
        yield "the class of everything else cannot be lossless: give it a `dscp`"


def _beside_everything_else(
    document: Document, specs: Mapping[str, ClassSpec], where: Mapping[str, Provenance]
) -> Iterator[Problem]:
    """The class that is added where none takes everything else."""
    if BEST_EFFORT in specs:
        yield Problem(
            document.where(("classes", BEST_EFFORT, "dscp"), key=True),
            f"no class is left for everything else: take `dscp` out of {BEST_EFFORT}",
        )
        return
    for name, spec in specs.items():
        if spec.queue == 0:
            yield Problem(
                where[name],
                f"queue 0 of {name} is that of {BEST_EFFORT}, the class of everything else: give "
                "it another `queue`",
            )

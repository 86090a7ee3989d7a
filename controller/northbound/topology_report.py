"""Topologies, what is wrong with them, and what an edit changes, as messages of ``heald.v1``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.fabric.difference import Change, Difference
from controller.fabric.errors import Problem
from controller.northbound.errors import FieldViolation
from heald.v1 import fabric_pb2 as pb


def changes(difference: Difference) -> list[pb.TopologyChange]:
    return [_change(change) for change in difference.changes]


def problems(found: Iterable[Problem]) -> list[pb.TopologyProblem]:
    return [
        pb.TopologyProblem(file=p.where.file, line=p.where.line, column=p.where.column, text=p.text)
        for p in found
    ]


def violations(found: Iterable[Problem]) -> Sequence[FieldViolation]:
    """The place in the text is the field."""
    return [FieldViolation(str(problem.where), problem.text) for problem in found]


def _change(change: Change) -> pb.TopologyChange:
    return pb.TopologyChange(
        kind=change.kind.value,
        element=change.element,
        name=change.name,
        was=change.was,
        fields=[
            pb.FieldChange(field=f.field, before=f.before, after=f.after) for f in change.fields
        ],
        cosmetic=change.is_cosmetic,
    )

"""The way in: bytes of a topology file to a ``Fabric``, or all that is wrong with them."""

from __future__ import annotations

from controller.fabric.build import build
from controller.fabric.check import check
from controller.fabric.classes import expand_classes
from controller.fabric.document import read
from controller.fabric.errors import Problems, TopologyErrors
from controller.fabric.generate.expand import expand
from controller.fabric.model import Fabric
from controller.fabric.validate import validate

__all__ = ["TopologyErrors", "load"]


def load(text: bytes, name: str) -> Fabric:
    """The fabric that ``text`` describes; ``name`` is what errors and provenances call the file.

    Files that differ only in order, comments and layout give equal fabrics.

    Raises:
        TopologyErrors: with every problem found, whatever the bytes; nothing else is raised.
    """
    problems = Problems()
    document = expand_classes(expand(read(text, name, problems), problems), problems)
    validated = validate(document, problems)
    if validated is not None:
        fabric = build(document, validated, problems)
        check(document, validated, fabric, problems)
        if not problems:
            return fabric
    raise problems.errors()

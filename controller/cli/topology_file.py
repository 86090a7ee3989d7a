"""The bytes of a topology file, for commands that need no controller."""

from __future__ import annotations

import sys
from pathlib import Path

from controller.fabric.document import MAX_BYTES
from controller.fabric.errors import Problem, TopologyErrors
from controller.fabric.model import Provenance


def read_file(file: str, shown: str) -> bytes:
    try:
        # One byte more than is allowed shows that the file is too large, even where it has no end.
        if file == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        text = f"cannot be read ({reason}): give the path of a readable file"
        raise TopologyErrors([Problem(Provenance(shown, 1, 1), text)]) from None

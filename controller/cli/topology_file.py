"""The bytes of a topology file, for commands that need no controller."""

from __future__ import annotations

import sys

from controller.brain.topology_file import text_of
from controller.fabric.document import MAX_BYTES


def read_file(file: str, shown: str) -> bytes:
    """``-`` is standard input; ``shown`` is what problems call the file. Raises TopologyErrors."""
    # One byte more than is allowed shows that the file is too large, even where it has no end.
    return sys.stdin.buffer.read(MAX_BYTES + 1) if file == "-" else text_of(file, shown)

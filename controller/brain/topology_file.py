"""The topology file on disk: read, and noticed when it is saved, whatever the editor does.

Looked at by name a few times a second, which works for every file system, for files that are
written in place, renamed over or removed for a moment, and for links and directories that are
exchanged. It is read when it has been as it is for a while: until then it may be half written.
"""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from controller.fabric.document import MAX_BYTES
from controller.fabric.errors import Problem, TopologyErrors
from controller.fabric.model import Provenance

LOOK_S = 0.25
STILL_S = 0.75
"""Longer than editors pause between two writes of one file, and than clocks of files are coarse."""

Looks: TypeAlias = tuple[int, ...] | None
"""What changes with every write; None for a file that is not there."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds, or why it cannot be read."""

    text: bytes = b""
    problems: tuple[Problem, ...] = ()


def read(file: str, name: str) -> Content:
    """At most one byte more than a topology may have, even if the file has no end. ``name`` is what
    problems call it."""
    try:
        with Path(file).open("rb") as stream:
            return Content(stream.read(MAX_BYTES + 1))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    text = f"cannot be read ({reason}): give the path of a readable file"
    return Content(problems=(Problem(Provenance(name, 1, 1), text),))


def text_of(file: str, name: str) -> bytes:
    """Raises TopologyErrors for a file that cannot be read."""
    found = read(file, name)
    if found.problems:
        raise TopologyErrors(found.problems)
    return found.text


class Stillness:
    """Tells when a file that changes has come to rest, from how it looks at several times."""

    def __init__(self, looks: Looks) -> None:
        self._told: Looks = looks
        self._looks: Looks = looks
        self._since_s = 0.0

    def is_news(self, looks: Looks, now_s: float) -> bool:
        """Whether it has changed since it was last `told`, and not for `STILL_S`."""
        if looks != self._looks:
            self._looks, self._since_s = looks, now_s
        return looks != self._told and now_s - self._since_s >= STILL_S

    def told(self, looks: Looks) -> None:
        self._told = looks


async def saves(file: str, looked: Looks) -> AsyncGenerator[Content, None]:
    """What the file holds whenever it has been saved since it ``looked`` like this, without end."""
    stillness = Stillness(looked)
    while True:
        await asyncio.sleep(LOOK_S)
        # In a thread: a file server that does not answer holds up nothing else.
        looks = await asyncio.to_thread(look, file)
        if not stillness.is_news(looks, time.monotonic()):
            continue
        content = await asyncio.to_thread(_read_regular, file)
        # Written while it was read: the next look waits for it to come to rest again.
        if await asyncio.to_thread(look, file) == looks:
            stillness.told(looks)
            yield content


def look(file: str) -> Looks:
    """Of what the name leads to now. The time of the last change of the inode is there for
    programs that set the time of modification."""
    try:
        seen = Path(file).stat()
    except (OSError, ValueError):
        return None
    return (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


def _read_regular(file: str) -> Content:
    """A pipe that took the place of the file would never end, or never begin."""
    try:
        if not stat.S_ISREG(Path(file).stat().st_mode):
            text = "cannot be read (it is no regular file): give the path of a readable file"
            return Content(problems=(Problem(Provenance(file, 1, 1), text),))
    except (OSError, ValueError):
        pass  # Reading says it.
    return read(file, file)

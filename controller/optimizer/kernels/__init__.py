"""Compiled kernels: loops over flat arrays that are too slow for Python and too ragged for numpy.

``@kernel`` compiles with numba at the first call and keeps the code in a cache of the user. Where
numba cannot be imported the same functions run in Python: right, but slow, and ``problem`` says
so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def _fingerprint() -> str:
    """Of all kernels: numba's own check does not see that a kernel changed which another calls."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _writable(path: Path) -> bool:
    """Make the directory; whether it is ours alone to write, for code is loaded from it."""
    try:
        path.mkdir(0o700, parents=True, exist_ok=True)
        status = path.stat()
    except OSError:
        return False
    private = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return private and os.access(path, os.W_OK)


def _cache_dir() -> str:
    """Of the service (systemd), else of the user, else a private one among temporary files; empty
    if there is none."""
    service = os.environ.get("CACHE_DIRECTORY", "").split(":")[0]
    user = service or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    temporary = Path(tempfile.gettempdir(), f"heald-{os.getuid()}")
    for base in (Path(user, "heald"), temporary):
        if _writable(base) and _writable(path := base / "kernels" / _fingerprint()):
            return str(path)
    return ""


cache_dir = os.environ.get("NUMBA_CACHE_DIR") or _cache_dir()
"""Where compiled kernels are kept; empty when they are not."""

problem = ""
"""Why kernels are not compiled; empty when they are."""

try:
    if cache_dir:
        os.environ["NUMBA_CACHE_DIR"] = cache_dir
    import numba
except Exception as error:
    problem = (
        f"numba cannot be imported ({type(error).__name__}: {error}): plans take much longer; "
        "install it with `pip install numba`"
    )


_kernels: list[Any] = []


def kernel(function: F) -> F:
    """Compile the function; without numba, leave it as it is."""
    if problem:
        return function
    _kernels.append(numba.njit(cache=bool(cache_dir), nogil=True)(function))
    return cast(F, _kernels[-1])


@cache
def _marker() -> Path:
    """numba keeps code by the place of its source, and by the Python that runs it."""
    which = f"{_fingerprint()} {__file__} {sys.version}"
    return Path(cache_dir, f"complete-{hashlib.sha256(which.encode()).hexdigest()[:16]}")


def is_complete() -> bool:
    """Whether no kernel has to be compiled any more."""
    return bool(problem) or (bool(cache_dir) and _marker().exists())


def completed() -> None:
    """To be called when all have been compiled."""
    if cache_dir and not problem:
        with contextlib.suppress(OSError):
            _marker().touch()


def compiled() -> int:
    """Kernels that were compiled in this process, and not taken from the cache."""
    return sum(len(k.signatures) > 0 and not k.stats.cache_hits for k in _kernels)

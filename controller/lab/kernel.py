"""The two Linux calls that the standard library of Python 3.10 lacks."""

from __future__ import annotations

import ctypes
import os
import signal

from controller.lab.errors import LabError

_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def enter_new_network_namespace() -> None:
    """Move this process into a network namespace of its own, which goes with its last process."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise LabError(
            f"The kernel refuses a new network namespace ({reason}); run as root, and in a "
            "container with --privileged"
        )


def go_first(nice: int) -> None:
    """Run before other programs where the system allows it; the timing of a lab hangs on a few."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    except OSError:
        pass  # Without that right, a busy machine bends the timing.


def die_with_parent() -> None:
    """In a child between fork and exec: be killed when the thread dies that forked it."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

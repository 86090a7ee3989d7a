"""A socket that hears the packets of one interface which a filter lets through."""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence

PACKET_OUTGOING = 4
"""The kind, in a packet's address, of one that leaves by the interface."""
_ETH_P_ALL = 3
_SO_ATTACH_FILTER = 26
_SO_RCVBUFFORCE = 33


def tap(
    interface: str, program: Sequence[tuple[int, int, int, int]], buffer_bytes: int
) -> socket.socket:
    """``program`` is classic BPF: (code, jump if true, jump if false, value) each. It takes the
    right to open raw sockets in the interface's namespace; raises PermissionError."""
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    found.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, buffer_bytes)
    code = ctypes.create_string_buffer(b"".join(struct.pack("@HBBI", *step) for step in program))
    found.setsockopt(
        socket.SOL_SOCKET,
        _SO_ATTACH_FILTER,
        struct.pack("@HP", len(program), ctypes.addressof(code)),
    )
    found.setblocking(False)
    # Bound to a protocol only now, so that nothing passes before the filter is there.
    found.bind((interface, _ETH_P_ALL))
    return found

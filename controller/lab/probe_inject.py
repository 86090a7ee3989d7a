"""Load on a link that no host sent: frames put straight on a switch's interface.

They share the link's rate and counters with what the switch forwards, like the traffic of another
operator; the switch at the far end knows no such destination.
"""

from __future__ import annotations

import socket
import struct

from controller.lab.probe_send import SendReport, paced

_FRAME_BYTES = 1442
_SOURCE = bytes.fromhex("02f0f0f0f0f0")
_DESTINATION = bytes.fromhex("02f0f0f0f0f1")
_IPV4, _UDP = 0x0800, 17
_DISCARD = 9


def inject(interface: str, rate_bps: float, duration_s: float | None) -> SendReport:
    """Send UDP frames of 1442 bytes at ``rate_bps`` until the duration is over, or a TERM."""
    frame = _frame()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
        raw.bind((interface, 0))
        return paced(lambda _: raw.send(frame), rate_bps / 8 / len(frame), duration_s, None)


def _frame() -> bytes:
    """Between two addresses of the documentation prefix; the UDP checksum is left out (0)."""
    source, destination = (socket.inet_aton(a) for a in ("192.0.2.1", "192.0.2.2"))
    length = _FRAME_BYTES - 14
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, _UDP, 0, source, destination)
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    udp = struct.pack("!HHHH", _DISCARD, _DISCARD, length - 20, 0)
    head = _DESTINATION + _SOURCE + struct.pack("!H", _IPV4) + ip + udp
    return head.ljust(_FRAME_BYTES, b"\0")

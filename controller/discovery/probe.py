"""The frame that proves a cable: which port sent it, sealed so that nobody else can make one.

It is an LLDP frame (IEEE 802.1AB) with an organizational TLV:

    fabric (8) | epoch (8) | datapath id (8) | port (4) | nonce (8) | seal (16)

The seal is HMAC-SHA256 (RFC 2104), cut to 128 bits, over all of the frame before it. A frame is
believed when it is, byte for byte, the one that this controller would send for what it says.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from struct import Struct

ETHERTYPE = 0x88CC
KEY_BYTES = 32
LIFE_S = 10.0
"""A probe that arrives later proves nothing."""
MAX_FRAME_BYTES = 192
"""No probe is longer."""

_NEAREST_BRIDGE = bytes.fromhex("0180c200000e")
"""No bridge that keeps to IEEE 802.1Q forwards what is sent there."""
_SOURCE = bytes.fromhex("024845000000")
_ETHERNET = Struct("!6s6sH")
_TLV_HEAD = Struct("!H")
_END, _CHASSIS, _PORT, _TTL, _ORGANIZATIONAL = 0, 1, 2, 3, 127
_LOCALLY_ASSIGNED = b"\x07"
_OURS = bytes.fromhex("0e4845") + b"\x01"
"""An OUI of locally administered addresses, which no vendor has, and a subtype."""
_BODY = Struct("!8sQQIQ")
_SEAL_BYTES = 16


@dataclass(frozen=True, slots=True)
class Probe:
    """What an authentic frame says of its sender. A nonce is used once."""

    dpid: int
    port: int
    nonce: int


class Rejection(Enum):
    """Why a frame is not believed: OTHER has no TLV of ours (hosts may well speak LLDP), FOREIGN is
    of another fabric or another start of the controller, FORGED has a seal that is not ours,
    REPLAYED has been heard before, LATE was sent more than LIFE_S ago, or before its port last went
    down or came up."""

    OTHER = "other LLDP"
    MALFORMED = "malformed"
    FOREIGN = "foreign"
    FORGED = "forged"
    REPLAYED = "replayed"
    LATE = "late"


class Seal:
    """Makes the probes of one fabric and one start of its controller, and knows them again.

    ``fabric`` is the name of the fabric with its site, ``key`` is KEY_BYTES random bytes, secret.
    """

    def __init__(self, fabric: str, epoch: int, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key of {len(key)} bytes; it must have {KEY_BYTES}")
        self._fabric = sha256(fabric.encode()).digest()[:8]
        self._epoch = epoch
        self._key = key

    def probe(self, dpid: int, port: int, nonce: int) -> bytes:
        """The Ethernet frame to send out of a port."""
        body = _OURS + _BODY.pack(self._fabric, self._epoch, dpid, port, nonce)
        sealed = b"".join(
            (
                _ETHERNET.pack(_NEAREST_BRIDGE, _SOURCE, ETHERTYPE),
                _tlv(_CHASSIS, _LOCALLY_ASSIGNED + b"%016x" % dpid),
                _tlv(_PORT, _LOCALLY_ASSIGNED + b"%d" % port),
                _tlv(_TTL, int(LIFE_S).to_bytes(2, "big")),
                _TLV_HEAD.pack(_ORGANIZATIONAL << 9 | len(body) + _SEAL_BYTES),
                body,
            )
        )
        seal = hmac.digest(self._key, sealed, "sha256")[:_SEAL_BYTES]
        return sealed + seal + _tlv(_END, b"")

    def open(self, frame: bytes) -> Probe | Rejection:
        """Any bytes may come; never REPLAYED or LATE, which takes memory to know."""
        body = _organizational(frame)
        if body is None:
            return Rejection.OTHER
        if len(body) != _BODY.size + _SEAL_BYTES:
            return Rejection.MALFORMED
        fabric, epoch, dpid, port, nonce = _BODY.unpack_from(body)
        if (fabric, epoch) != (self._fabric, self._epoch):
            return Rejection.FOREIGN
        if not hmac.compare_digest(self.probe(dpid, port, nonce), frame):
            return Rejection.FORGED
        return Probe(dpid, port, nonce)


def _tlv(kind: int, value: bytes) -> bytes:
    return _TLV_HEAD.pack(kind << 9 | len(value)) + value


def _organizational(frame: bytes) -> bytes | None:
    """What our TLV holds; None for a frame without one, or that is no LLDP."""
    at = _ETHERNET.size
    if not at <= len(frame) <= MAX_FRAME_BYTES:
        return None
    if _ETHERNET.unpack_from(frame)[2] != ETHERTYPE:
        return None
    while at + _TLV_HEAD.size <= len(frame):
        (head,) = _TLV_HEAD.unpack_from(frame, at)
        kind, size = head >> 9, head & 0x1FF
        at += _TLV_HEAD.size
        if kind == _END or at + size > len(frame):
            return None
        if kind == _ORGANIZATIONAL and frame.startswith(_OURS, at) and size >= len(_OURS):
            return frame[at + len(_OURS) : at + size]
        at += size
    return None

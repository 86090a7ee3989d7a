"""What of a switch's words may reach Ryu's parsers, which trust every length they read.

Pure. Ryu does the handshake itself; `for_ryu` gives it only those messages that it parses safely,
after their lengths are checked. Everything else is decoded by `controller.openflow`.
"""

from __future__ import annotations

from enum import Enum, auto
from struct import Struct

from controller.openflow import decode, encode
from controller.openflow.wire import (
    HEADER_BYTES,
    VERSION,
    DecodeError,
    Header,
    MessageType,
    compose,
)

VERSION_NAMES = {1: "1.0", 2: "1.1", 3: "1.2", 4: "1.3", 5: "1.4", 6: "1.5"}

HELLO_LIMIT_BYTES = 1024
"""One with all that there is has 16; thousands of elements would take milliseconds."""
REFUSAL_LIMIT_BYTES = 200
"""What is read of the words of a switch that turns us away."""

_ERROR = Struct("!HH")
_FEATURES_REPLY_BYTES = 32
_HELLO_FAILED, _INCOMPATIBLE = 0, 0


class State(Enum):
    """How far the handshake of a switch is: Ryu's dispatchers of the same names."""

    HANDSHAKE = auto()
    CONFIG = auto()
    MAIN = auto()


class WrongVersionError(Exception):
    """The switch does not speak OpenFlow 1.5; the text says what it speaks and the cure."""


def for_ryu(state: State, head: Header, message: bytes) -> bytes | None:
    """What Ryu shall parse in the place of this message, None if nothing.

    Raises DecodeError for a malformed message or one out of turn, WrongVersionError for the HELLO
    of a switch without OpenFlow 1.5.
    """
    if head.type == MessageType.HELLO:
        if state is not State.HANDSHAKE:
            raise DecodeError("a second HELLO at offset 1")
        if head.length > HELLO_LIMIT_BYTES:
            raise DecodeError(f"a HELLO of {head.length} bytes at offset 2")
        _check_version(decode.hello_versions(message))
        # Ryu trusts lengths and forgets padding, so it gets a HELLO without surprises.
        return encode.with_xid(encode.hello(), head.xid)
    if state is State.HANDSHAKE and head.type == MessageType.ERROR:
        said = message[HEADER_BYTES + _ERROR.size :][:REFUSAL_LIMIT_BYTES]
        text = said.decode("ascii", "backslashreplace")
        raise DecodeError(f"an ERROR instead of a HELLO at offset 1: {text!r}")
    if head.version != VERSION:
        raise DecodeError(f"version {head.version} instead of {VERSION} at offset 0")
    if head.type in (MessageType.ECHO_REQUEST, MessageType.ECHO_REPLY):
        return message
    if head.type == MessageType.FEATURES_REPLY:
        if state is not State.CONFIG:
            raise DecodeError("a FEATURES_REPLY that was not asked for at offset 1")
        if head.length != _FEATURES_REPLY_BYTES:
            raise DecodeError(
                f"FEATURES_REPLY of {head.length} bytes instead of {_FEATURES_REPLY_BYTES} "
                "at offset 2"
            )
        return message
    return None


def hello_failed(reason: str) -> bytes:
    """The error that tells a switch why it is turned away."""
    return compose(MessageType.ERROR, _ERROR.pack(_HELLO_FAILED, _INCOMPATIBLE) + reason.encode())


def _check_version(versions: frozenset[int]) -> None:
    if VERSION not in versions:
        named = ", ".join(VERSION_NAMES.get(v, f"version {v}") for v in sorted(versions))
        raise WrongVersionError(
            f"speaks OpenFlow {named or 'of no version'}, Heald needs 1.5; for Open vSwitch: "
            "ovs-vsctl set bridge BRIDGE protocols=OpenFlow15"
        )

"""No bytes of a switch reach Ryu's parsers but those that it parses safely."""

from __future__ import annotations

import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.handshake import State, WrongVersionError, for_ryu
from controller.openflow import encode
from controller.openflow.wire import DecodeError, MessageType, compose, header
from tests.apps.peers import hello_of

ALL_STATES = st.sampled_from(list(State))


def checked(state: State, message: bytes) -> bytes | None:
    return for_ryu(state, header(message), message)


@pytest.mark.parametrize("versions", [1 << 6, 1 << 4 | 1 << 6, 1 << 6 | 1 << 7])
def test_a_switch_that_also_speaks_1_5_is_welcome(versions: int) -> None:
    assert checked(State.HANDSHAKE, hello_of(6, versions)) == encode.with_xid(encode.hello(), 1)


@pytest.mark.parametrize("versions", [0, 1 << 4, 1 << 1 | 1 << 4 | 1 << 5, 1 << 7])
def test_one_that_does_not_is_told_what_it_speaks_and_the_cure(versions: int) -> None:
    with pytest.raises(WrongVersionError, match=r"Heald needs 1\.5.*protocols=OpenFlow15"):
        checked(State.HANDSHAKE, hello_of(4, versions))


def test_without_elements_the_header_says_it() -> None:
    assert checked(State.HANDSHAKE, compose(MessageType.HELLO)) is not None
    with pytest.raises(WrongVersionError, match=r"1\.0, 1\.1, 1\.2, 1\.3"):
        checked(State.HANDSHAKE, b"\x04" + compose(MessageType.HELLO)[1:])


@pytest.mark.parametrize("size", [0, 23, 25, 4000])
def test_features_of_another_size_are_malformed(size: int) -> None:
    with pytest.raises(DecodeError, match="FEATURES_REPLY"):
        checked(State.CONFIG, compose(MessageType.FEATURES_REPLY, bytes(size)))


@pytest.mark.parametrize("state", [State.HANDSHAKE, State.MAIN])
def test_features_out_of_turn_are_refused(state: State) -> None:
    with pytest.raises(DecodeError, match="not asked for"):
        checked(state, compose(MessageType.FEATURES_REPLY, bytes(24)))


@given(ALL_STATES, st.integers(0, 40), st.integers(0, 9), st.binary(max_size=64))
def test_ryu_sees_only_hello_features_and_echo(
    state: State, kind: int, version: int, body: bytes
) -> None:
    message = bytes([version, kind]) + (8 + len(body)).to_bytes(2, "big") + bytes(4) + body
    try:
        passed = checked(state, message)
    except (DecodeError, WrongVersionError):
        return
    if passed is None:
        return
    if kind == MessageType.HELLO:
        assert passed == encode.hello()
    elif kind == MessageType.FEATURES_REPLY:
        assert (state, len(passed)) == (State.CONFIG, 32)
    else:
        assert kind in (MessageType.ECHO_REQUEST, MessageType.ECHO_REPLY)
    assert version == 6 or kind == MessageType.HELLO


@pytest.mark.parametrize("kind", [MessageType.ERROR, MessageType.HELLO])
def test_a_message_as_long_as_can_be_takes_no_turn_of_the_others(kind: MessageType) -> None:
    elements = struct.pack("!HHI", 9, 8, 0) * 8000 if kind is MessageType.HELLO else b"\xff" * 65000
    message = compose(kind, elements)

    def taken_s() -> float:
        began_s = time.process_time()
        with pytest.raises(DecodeError) as refused:
            for_ryu(State.HANDSHAKE, header(message), message)
        assert len(str(refused.value)) < 2000
        return time.process_time() - began_s

    # The shortest of a few, for the machine has other things to do as well.
    assert min(taken_s() for _ in range(5)) < 0.005

"""The session with one switch on its own: numbers, order, deadlines."""

from __future__ import annotations

import time
from collections.abc import Collection
from itertools import pairwise
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from controller.dataplane.session.lldp import BURST_FRAMES, HEARD_BYTES, RATE_PPS
from controller.dataplane.session.neighbours import Neighbours
from controller.dataplane.session.session import (
    ANSWER_S,
    PIECE_MESSAGES,
    PIECES,
    READ_BACK_S,
    Session,
)
from controller.openflow.decode import PortDesc
from controller.openflow.wire import (
    Header,
    MessageType,
    MultipartType,
    compose,
    header,
    split,
)
from heald.internal.v1 import session_pb2 as pb

READ_BACK = (
    MultipartType.PORT_DESC,
    MultipartType.FLOW_DESC,
    MultipartType.GROUP_DESC,
    MultipartType.METER_DESC,
)


class Peer:
    """Both ends of a session, and its clock."""

    def __init__(self) -> None:
        self.peer = "192.0.2.1:1"
        self.warnings: list[str] = []
        self.ports: dict[int, PortDesc] = {}
        self.sent: list[bytes] = []
        self.told: list[pb.FromSession] = []
        self.samples: list[pb.Sample] = []
        self.frames: list[pb.HeardFrame] = []
        self.shed_frames = 0
        self.dropped = ""
        self.now_s = 0.0
        self._xid = 0
        self.session = Session(self, self, 1, 1, Neighbours(), lambda: self.now_s, 7)

    def take_xids(self, count: int) -> int:
        self._xid += count
        return self._xid - count + 1

    def drop(self, reason: str) -> None:
        self.dropped = self.dropped or reason

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def send(self, buf: object) -> bool:
        if isinstance(buf, pb.FromSession):
            self.told.append(buf)
        else:
            assert isinstance(buf, bytes)
            messages, rest = split(buf)
            assert not rest
            self.sent += messages
        return True

    def sample(self, sample: pb.Sample) -> None:
        self.samples.append(sample)

    def heard(self, frame: pb.HeardFrame) -> None:
        self.frames.append(frame)

    def shed(self) -> None:
        self.shed_frames += 1

    def says(self, message: bytes) -> None:
        self.session.received(header(message), message)

    def heads(self, kind: MessageType) -> list[Header]:
        return [header(m) for m in self.sent if m[1] == kind]

    def answers_barriers(self, errors: Collection[int] = ()) -> None:
        """As the switch, until it has been sent everything; requests of these xids are refused."""
        done = 0
        while done < len(self.sent):
            head = header(self.sent[done])
            done += 1
            if head.type == MessageType.BARRIER_REQUEST:
                self.says(compose(MessageType.BARRIER_REPLY, xid=head.xid))
            elif head.xid in errors:
                refused = pack("!HH", 5, 1) + compose(MessageType.FLOW_MOD, xid=head.xid)
                self.says(compose(MessageType.ERROR, refused, head.xid))

    def answers(self) -> list[tuple[str, int, int]]:
        found = []
        for message in self.told:
            kind = message.WhichOneof("message")
            assert kind is not None
            body = getattr(message, kind)
            found.append((kind, body.batch_id, getattr(body, "index", 0)))
        return found


def batch(number: int, size: int) -> pb.Batch:
    messages = [compose(MessageType.FLOW_MOD, bytes(48))] * size
    return pb.Batch(dpid=1, session=1, batch_id=number, messages=messages)


@given(
    st.lists(
        (st.integers(0, 6) | st.integers(0, 5 * PIECE_MESSAGES)).flatmap(
            lambda size: st.tuples(
                st.just(size), st.lists(st.integers(0, max(0, size - 1)), max_size=3 if size else 0)
            )
        ),
        max_size=5,
    )
)
def test_each_batch_has_one_answer_with_its_first_error(
    batches: list[tuple[int, list[int]]],
) -> None:
    peer = Peer()
    refused = set()
    for number, (size, errors) in enumerate(batches):
        first = peer.take_xids(0)
        peer.session.execute(batch(number, size), pause=lambda: None)
        refused |= {first + index for index in errors}
    peer.answers_barriers(refused)
    assert peer.answers() == [
        ("failed", number, min(errors)) if errors else ("done", number, 0)
        for number, (_, errors) in enumerate(batches)
    ]


def test_a_long_batch_lets_others_have_their_turn_every_five_milliseconds() -> None:
    large = batch(1, 20_000)

    def longest_turn_s() -> float:
        peer = Peer()
        turns_s = [time.process_time()]
        peer.session.execute(large, pause=lambda: turns_s.append(time.process_time()))
        return max(b - a for a, b in pairwise(turns_s))

    # The shortest of a few, for the machine has other things to do as well.
    assert min(longest_turn_s() for _ in range(5)) < 0.005


def test_a_slow_switch_never_has_much_before_an_echo() -> None:
    """And one that takes its time is waited for, as long as it gets on."""
    peer = Peer()
    peer.session.execute(batch(1, 10 * PIECE_MESSAGES), pause=lambda: None)
    peer.session.read_back()
    answered = 0
    while not peer.answers():
        barriers = peer.heads(MessageType.BARRIER_REQUEST)
        sent = len(peer.heads(MessageType.FLOW_MOD))
        assert sent <= (answered + PIECES) * PIECE_MESSAGES
        if sent < 10 * PIECE_MESSAGES:
            assert not peer.heads(MessageType.MULTIPART_REQUEST), "that would miss the rest"
        peer.now_s += ANSWER_S - 1
        peer.session.check()
        assert not peer.dropped
        peer.says(compose(MessageType.BARRIER_REPLY, xid=barriers[answered].xid))
        answered += 1
    assert answered == 10
    assert peer.answers() == [("done", 1, 0)]
    assert len(peer.heads(MessageType.MULTIPART_REQUEST)) == len(READ_BACK)


def test_what_belongs_to_nothing_is_ignored() -> None:
    peer = Peer()
    peer.says(compose(MessageType.BARRIER_REPLY, xid=77))
    peer.says(compose(MessageType.MULTIPART_REPLY, pack("!HH4x", 1, 0), 77))
    peer.says(compose(MessageType.ERROR, pack("!HH", 1, 1) + bytes(8), 77))
    peer.says(compose(MessageType.EXPERIMENTER, bytes(8), 77))
    assert not peer.told
    assert not peer.dropped


def test_read_backs_do_not_overlap() -> None:
    peer = Peer()
    peer.session.read_back()
    peer.session.read_back()
    peer.session.read_back()
    requests = peer.heads(MessageType.MULTIPART_REQUEST)
    assert len(requests) == len(READ_BACK)
    for request, kind in zip(requests, READ_BACK, strict=True):
        peer.says(compose(MessageType.MULTIPART_REPLY, pack("!HH4x", kind, 0), request.xid))
    assert len(peer.told) == 1
    assert len(peer.heads(MessageType.MULTIPART_REQUEST)) == 2 * len(READ_BACK)


def test_a_switch_without_meters_is_read_back_and_one_without_groups_begins_anew() -> None:
    for refused, is_fatal in ((3, False), (2, True)):
        peer = Peer()
        peer.session.read_back()
        for index, request in enumerate(peer.heads(MessageType.MULTIPART_REQUEST)):
            if index == refused:
                body = pack("!HH", 1, 2) + compose(MessageType.MULTIPART_REQUEST, xid=request.xid)
                peer.says(compose(MessageType.ERROR, body, request.xid))
            else:
                body = pack("!HH4x", READ_BACK[index], 0)
                peer.says(compose(MessageType.MULTIPART_REPLY, body, request.xid))
        assert bool(peer.dropped) == is_fatal
        assert len(peer.told) == (0 if is_fatal else 1)


def test_overdue_answers_end_the_session() -> None:
    for order, limit_s in (("batch", ANSWER_S), ("read_back", READ_BACK_S)):
        peer = Peer()
        if order == "batch":
            peer.session.execute(batch(1, 1), pause=lambda: None)
        else:
            peer.session.read_back()
        peer.now_s = limit_s - 1
        peer.session.check()
        assert not peer.dropped
        peer.now_s = limit_s + 1
        peer.session.check()
        assert "answered no" in peer.dropped


def test_polls_do_not_pile_up_on_a_slow_switch() -> None:
    peer = Peer()
    for _ in range(5):
        peer.session.poll()
    assert len(peer.heads(MessageType.MULTIPART_REQUEST)) == 3
    peer.now_s = ANSWER_S + 1
    peer.session.check()
    peer.session.poll()
    assert len(peer.heads(MessageType.MULTIPART_REQUEST)) == 6
    assert not peer.dropped


def packet_in(port: int, frame: bytes) -> bytes:
    match = pack("!HHIII4x", 1, 12, 0x80000004, port, 0)[:16]
    body = pack("!IHBBQ", 0xFFFFFFFF, len(frame), 0, 0, 0) + match + b"\0\0" + frame
    return compose(MessageType.PACKET_IN, body, 0)


LLDP = bytes.fromhex("0180c200000e024845000000" + "88cc")


def test_lldp_goes_up_with_its_port_and_nothing_goes_back() -> None:
    peer = Peer()
    peer.says(packet_in(11, LLDP + b"x" * 2000))
    peer.says(packet_in(12, b"\xff" * 12 + b"\x08\x00" + bytes(50)))
    assert [(f.dpid, f.session, f.port) for f in peer.frames] == [(1, 1, 11)]
    assert peer.frames[0].frame == (LLDP + b"x" * 2000)[:HEARD_BYTES]
    assert not peer.heads(MessageType.PACKET_OUT)


def test_a_flood_of_lldp_is_shed_and_over_when_it_is_over() -> None:
    peer = Peer()
    for _ in range(10_000):
        peer.says(packet_in(1, LLDP))
    assert (len(peer.frames), peer.shed_frames) == (BURST_FRAMES, 10_000 - BURST_FRAMES)
    peer.now_s += 1.0
    for _ in range(RATE_PPS):
        peer.says(packet_in(2, LLDP))
    assert peer.frames[-1].port == 2 and len(peer.frames) == BURST_FRAMES + RATE_PPS


def test_a_probe_leaves_by_its_port() -> None:
    peer = Peer()
    peer.session.probe(11, LLDP)
    (sent,) = [m for m in peer.sent if m[1] == MessageType.PACKET_OUT]
    assert sent.endswith(LLDP) and pack("!HHI", 0, 16, 11) in sent

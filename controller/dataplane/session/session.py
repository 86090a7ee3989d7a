"""The session with one switch: what the brain orders goes out numbered, what the switch answers is
tied to the order it belongs to.

A session begins when a switch is connected and a brain is linked, and ends with either of them; the
next one has a higher number. So nothing of an old brain's orders can be taken for a new one's. Pure
but for the callables it is given: bytes leave through ``Wire``, messages through ``Uplink``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller.dataplane.session import counters
from controller.dataplane.session.neighbours import Neighbours
from controller.dataplane.session.orders import Orders, is_whole, numbered
from controller.openflow import decode, encode
from controller.openflow.messages import Role
from controller.openflow.model import Port
from controller.openflow.wire import (
    VERSION,
    Header,
    MessageType,
    MultipartType,
    multipart,
)
from heald.internal.v1 import session_pb2 as pb

PIECE_MESSAGES = 100
"""A batch is sent in pieces of so many messages, each with a barrier ..."""
PIECES = 2
"""... and no more of them at a time, so that a switch that takes its time never has so much before
an echo that it would be taken for dead."""
SLICE_MESSAGES = 2000
"""Messages that are checked in one go; less than a millisecond."""
PORT_LIMIT = 8192
READ_BACK_LIMIT_BYTES = 60 << 20
ANSWER_S = 15.0
"""A switch that is alive but answers no barrier for so long begins anew ..."""
READ_BACK_S = 30.0
"""... and one that answers no read-back for so long."""
TOLD_ERRORS = 20
"""Of a session; a switch that errs for ever shall not fill the disk."""

_READ_BACK = {
    # Should a change of a port not have been told, it is found out now.
    MultipartType.PORT_DESC: encode.port_desc_request,
    MultipartType.FLOW_DESC: encode.flow_desc_request,
    MultipartType.GROUP_DESC: encode.group_desc_request,
    MultipartType.METER_DESC: encode.meter_desc_request,
}
_COUNTERS = {
    MultipartType.PORT_STATS: encode.port_stats_request,
    MultipartType.GROUP_STATS: encode.group_stats_request,
    MultipartType.QUEUE_STATS: encode.queue_stats_request,
}


class Wire(Protocol):
    """The connection to the switch."""

    peer: str
    ports: dict[int, decode.PortDesc]

    def take_xids(self, count: int) -> int: ...

    def send(self, buf: bytes) -> bool: ...

    def drop(self, reason: str) -> None: ...

    def warn(self, text: str) -> None:
        """Tell people of trouble with this switch that its session survives."""


class Uplink(Protocol):
    """The link to the brain."""

    def send(self, message: pb.FromSession) -> None: ...

    def sample(self, sample: pb.Sample) -> None: ...


@dataclass(slots=True)
class _ReadBack:
    began_s: float
    xids: dict[int, MultipartType] = field(default_factory=dict)
    parts: dict[MultipartType, list[bytes]] = field(default_factory=dict)
    size: int = 0


@dataclass(slots=True)
class _Poll:
    began_s: float
    sample: pb.Sample
    xids: dict[int, MultipartType] = field(default_factory=dict)


class Session:
    """``clock`` is monotonic seconds, whose times go into samples. ``epoch`` is that of the brain:
    a switch obeys the highest."""

    def __init__(
        self,
        wire: Wire,
        uplink: Uplink,
        dpid: int,
        number: int,
        neighbours: Neighbours,
        clock: Callable[[], float],
        epoch: int,
    ) -> None:
        self._epoch = epoch
        self._roles: set[int] = set()
        self._description: int | None = None
        self.number = number
        self.dpid = dpid
        self._wire = wire
        self._uplink = uplink
        self._neighbours = neighbours
        self._clock = clock
        self._orders = Orders(dpid, number)
        # Messages, their first transaction id and that of their barrier.
        self._pieces: deque[tuple[list[bytes], int, int]] = deque()
        self._barriers: deque[int] = deque()
        self._moved_s = 0.0
        self._read_back: _ReadBack | None = None
        self._read_again = False
        self._poll: _Poll | None = None
        self._unexpected = 0

    # ---- what the brain orders -----------------------------------------------------------------

    def begin(self) -> None:
        """Take charge of the switch, tell the brain of it, and read back what it holds."""
        # First as one of many: so a switch refuses an epoch that is over before it obeys it.
        for role in (Role.SECONDARY, Role.PRIMARY):
            self._roles.add(self._request(encode.role_request(role, self._epoch)))
        ports = [self._port_state(port, removed=False) for port in self._wire.ports.values()]
        self._uplink.send(
            pb.FromSession(
                connected=pb.Connected(
                    dpid=self.dpid,
                    session=self.number,
                    openflow_version=VERSION,
                    peer=self._wire.peer,
                    ports=[port for port in ports if port.port <= counters.LAST_PORT],
                )
            )
        )
        self._description = self._request(encode.desc_request())
        self.read_back()

    def read_back(self) -> None:
        """Ask for all that the switch holds, once it has been sent all that was ordered before, and
        one read-back after the other."""
        if self._read_back is not None or self._pieces:
            self._read_again = True
            return
        # The barrier makes what was sent before visible to what is read after.
        self._request(encode.barrier_request())
        self._read_back = _ReadBack(self._clock(), parts={kind: [] for kind in _READ_BACK})
        self._read_back.xids = self._request_all(_READ_BACK)

    def execute(self, batch: pb.Batch, pause: Callable[[], None]) -> None:
        """Send a batch, piece by piece. ``pause`` is called between slices of a long one."""
        messages = list(batch.messages)
        count = len(messages)
        for index, message in enumerate(messages):
            if not is_whole(message):
                text = f"message {index} of the batch is no OpenFlow 1.5 message; nothing was sent"
                self.refuse(batch, text, index)
                return
            if index % SLICE_MESSAGES == SLICE_MESSAGES - 1:
                pause()
        begins = range(0, max(count, 1), PIECE_MESSAGES)
        first = self._wire.take_xids(count + len(begins))
        self._orders.add(batch, first, count)
        # The last barrier comes right after the messages, those between the pieces after that.
        barriers = [*range(first + count + 1, first + count + len(begins)), first + count]
        for begin, barrier in zip(begins, barriers, strict=True):
            piece = messages[begin : begin + PIECE_MESSAGES]
            self._pieces.append((piece, first + begin, barrier))
        self._advance()

    def _advance(self) -> None:
        """Send what the switch may have before it."""
        while self._pieces and len(self._barriers) < PIECES:
            messages, first, barrier = self._pieces.popleft()
            if not self._barriers:
                self._moved_s = self._clock()
            self._barriers.append(barrier)
            request = encode.with_xid(encode.barrier_request(), barrier)
            if not self._wire.send(numbered(messages, first) + request):
                return
        self._read_if_wanted()

    def _compare_ports(self, parts: list[bytes]) -> None:
        known, told = self._wire.ports, {}
        for part in parts:
            told.update({port.port: port for port in decode.port_descs(part)})
        if len(told) > PORT_LIMIT:
            self._wire.drop(f"tells more than {PORT_LIMIT} ports")
            return
        for number in sorted(known.keys() | told.keys()):
            was, port = known.get(number), told.get(number)
            if port is None:
                self.port_changed(decode.PortStatus(known.pop(number), deleted=True))
            elif was is None or was.live != port.live:
                known[number] = port
                self.port_changed(decode.PortStatus(port, deleted=False))

    def _read_if_wanted(self) -> None:
        if self._read_again and self._read_back is None and not self._pieces:
            self._read_again = False
            self.read_back()

    def _answered(self, barrier: int) -> None:
        if barrier in self._barriers:
            self._barriers.remove(barrier)
            self._moved_s = self._clock()
        answer = self._orders.finish(barrier)
        if answer is not None:
            self._uplink.send(answer)
        self._advance()

    def refuse(self, batch: pb.Batch, reason: str, index: int = 0) -> None:
        """Answer a batch that was not sent."""
        self._uplink.send(
            pb.FromSession(
                failed=pb.Failed(
                    dpid=self.dpid,
                    session=self.number,
                    batch_id=batch.batch_id,
                    phase=batch.phase,
                    index=index,
                    error=reason,
                )
            )
        )

    def poll(self) -> None:
        """Ask for the counters, unless the last answer is still to come."""
        if self._poll is None:
            sample = pb.Sample(dpid=self.dpid, session=self.number)
            self._poll = _Poll(self._clock(), sample)
            self._poll.xids = self._request_all(_COUNTERS)

    def check(self) -> None:
        """To be called now and then: ends the session when answers are overdue."""
        now_s = self._clock()
        if self._barriers and now_s - self._moved_s > ANSWER_S:
            self._wire.drop(f"answered no barrier for {ANSWER_S:.0f} s")
        elif self._read_back is not None and now_s - self._read_back.began_s > READ_BACK_S:
            self._wire.drop(f"answered no read-back for {READ_BACK_S:.0f} s")
        elif self._poll is not None and now_s - self._poll.began_s > ANSWER_S:
            self._poll = None

    # ---- what the switch says ------------------------------------------------------------------

    def received(self, head: Header, message: bytes) -> None:
        """Any message that Ryu does not handle. Raises DecodeError."""
        if head.type == MessageType.MULTIPART_REPLY:
            self._multipart(head.xid, message)
        elif head.type == MessageType.BARRIER_REPLY:
            self._answered(head.xid)
        elif head.type == MessageType.ERROR:
            self._error(decode.error(message))
        elif head.type == MessageType.ROLE_STATUS:
            self._wire.drop("another controller has taken charge of it")
        elif head.type == MessageType.PACKET_IN:
            self._packet_in(decode.packet_in(message))

    def port_changed(self, status: decode.PortStatus) -> None:
        if status.port.port <= counters.LAST_PORT:
            state = self._port_state(status.port, removed=status.deleted)
            self._uplink.send(pb.FromSession(port_state=state))

    def _multipart(self, xid: int, message: bytes) -> None:
        kind, more = multipart(message)
        reading, polling = self._read_back, self._poll
        if reading is not None and reading.xids.get(xid) == kind:
            reading.parts[reading.xids[xid]].append(message)
            reading.size += len(message)
            if reading.size > READ_BACK_LIMIT_BYTES:
                self._wire.drop(f"holds more than {READ_BACK_LIMIT_BYTES >> 20} MiB of entries")
            elif not more:
                self._read(reading, xid)
        elif polling is not None and polling.xids.get(xid) == kind:
            counters.add(polling.sample, polling.xids[xid], message)
            if not more:
                self._polled(polling, xid)
        elif kind == MultipartType.DESC and xid == self._description:
            self._description = None
            self._describe(message)

    def _describe(self, message: bytes) -> None:
        try:
            said = decode.description(message)
        except decode.DecodeError as error:
            # Nothing depends on it.
            self._wire.warn(f"does not say what it is: {error}")
            return
        self._uplink.send(
            pb.FromSession(
                described=pb.Described(
                    dpid=self.dpid,
                    session=self.number,
                    manufacturer=said.manufacturer,
                    hardware=said.hardware,
                    software=said.software,
                    serial=said.serial,
                    datapath=said.datapath,
                )
            )
        )

    def _read(self, reading: _ReadBack, xid: int) -> None:
        del reading.xids[xid]
        if reading.xids:
            return
        self._read_back = None
        self._compare_ports(reading.parts[MultipartType.PORT_DESC])
        self._uplink.send(
            pb.FromSession(
                readback=pb.Readback(
                    dpid=self.dpid,
                    session=self.number,
                    flows=reading.parts[MultipartType.FLOW_DESC],
                    groups=reading.parts[MultipartType.GROUP_DESC],
                    meters=reading.parts[MultipartType.METER_DESC],
                )
            )
        )
        self._read_if_wanted()

    def _polled(self, polling: _Poll, xid: int) -> None:
        kind = polling.xids.pop(xid)
        if kind is MultipartType.PORT_STATS:
            polling.sample.time_s = self._clock()
        if not polling.xids:
            self._poll = None
            self._uplink.sample(polling.sample)

    def _error(self, error: decode.ErrorMessage) -> None:
        if self._orders.fail(error):
            return
        if error.xid in self._roles:
            self._wire.drop(
                f"refuses epoch {self._epoch}: {error.name}; a newer controller is in charge of "
                "it. If there is none, this machine's clock is behind that of the last one: "
                "correct it, or take the controllers off the switch and set them again"
            )
            return
        if error.xid == self._description:
            self._description = None
            return
        if error.xid in self._barriers:
            self._wire.drop(f"refuses barriers: {error.name}")
            return
        reading, polling = self._read_back, self._poll
        if reading is not None and error.xid in reading.xids:
            kind = reading.xids[error.xid]
            if kind is not MultipartType.METER_DESC:
                self._wire.drop(f"cannot be read back: {kind.name}: {error.name}")
                return
            self._wire.warn(f"meters cannot be read back: {error.name}")
            self._read(reading, error.xid)
        elif polling is not None and error.xid in polling.xids:
            # A switch without queues, say; its other counters are as good.
            self._polled(polling, error.xid)
        elif self._unexpected < TOLD_ERRORS:
            self._unexpected += 1
            self._wire.warn(f"unexpected error: {error.name}")

    def _packet_in(self, packet: decode.PacketIn) -> None:
        if packet.in_port is None:
            return
        reply = self._neighbours.answer(packet.data)
        if reply is not None:
            self._request(encode.packet_out(Port.CONTROLLER, packet.in_port, reply))

    # ---- helpers -------------------------------------------------------------------------------

    def _request(self, message: bytes) -> int:
        xid = self._wire.take_xids(1)
        self._wire.send(encode.with_xid(message, xid))
        return xid

    def _request_all(
        self, requests: Mapping[MultipartType, Callable[[], bytes]]
    ) -> dict[int, MultipartType]:
        return {self._request(request()): kind for kind, request in requests.items()}

    def _port_state(self, port: decode.PortDesc, removed: bool) -> pb.PortState:
        return pb.PortState(
            dpid=self.dpid,
            session=self.number,
            port=port.port,
            name=port.name,
            live=port.live and not removed,
            removed=removed,
        )

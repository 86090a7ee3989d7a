"""Batches on their way to one switch: which transaction id is which message of which batch."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from struct import Struct

from controller.openflow.decode import ErrorMessage
from controller.openflow.wire import HEADER_BYTES, VERSION
from heald.internal.v1 import session_pb2 as pb

_XID = Struct("!I")


@dataclass(slots=True)
class _Order:
    """A batch whose messages have the ``count`` transaction ids before ``barrier``."""

    batch: int
    phase: int
    barrier: int
    count: int
    errors: int = 0
    index: int = 0
    error: ErrorMessage | None = None


class Orders:
    """Those of one session, in the order in which they were sent."""

    def __init__(self, dpid: int, session: int) -> None:
        self._dpid = dpid
        self._session = session
        self._orders: deque[_Order] = deque()

    def add(self, batch: pb.Batch, first_xid: int, count: int) -> None:
        """A batch of ``count`` messages from ``first_xid`` on, followed by its barrier."""
        self._orders.append(_Order(batch.batch_id, batch.phase, first_xid + count, count))

    def fail(self, error: ErrorMessage) -> bool:
        """Note an error against the message it belongs to; False if that is in no batch."""
        for order in self._orders:
            index = error.xid - (order.barrier - order.count)
            if 0 <= index < order.count:
                order.errors += 1
                if order.error is None:
                    order.index, order.error = index, error
                return True
        return False

    def finish(self, barrier: int) -> pb.FromSession | None:
        """The answer to the batch that this barrier ends, None for any other barrier."""
        if not self._orders or self._orders[0].barrier != barrier:
            return None
        order = self._orders.popleft()
        if order.error is None:
            return pb.FromSession(
                done=pb.Done(
                    dpid=self._dpid,
                    session=self._session,
                    batch_id=order.batch,
                    phase=order.phase,
                )
            )
        text = order.error.name
        if order.errors > 1:
            text += f" (and {order.errors - 1} more errors in this batch)"
        return pb.FromSession(
            failed=pb.Failed(
                dpid=self._dpid,
                session=self._session,
                batch_id=order.batch,
                phase=order.phase,
                index=order.index,
                error_type=order.error.type,
                error_code=order.error.code,
                error=text,
            )
        )


def is_whole(message: bytes) -> bool:
    """Whether these bytes are one OpenFlow 1.5 message, by their header."""
    size = len(message)
    return size >= HEADER_BYTES and message[0] == VERSION and message[2] << 8 | message[3] == size


def numbered(messages: list[bytes], first: int) -> bytes:
    """The messages in one piece, with consecutive transaction ids from ``first``."""
    buffer = bytearray(b"".join(messages))
    at = 4
    for xid, message in enumerate(messages, first):
        _XID.pack_into(buffer, at, xid)
        at += len(message)
    return bytes(buffer)

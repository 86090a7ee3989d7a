"""What waits for a brain that is slow stays short, and in the order that matters."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apps.brain_link import HEARD_LIMIT, _Outbox
from heald.internal.v1 import session_pb2 as pb

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["connected", "disconnected", "done", "up", "down", "take"]),
        st.integers(1, 2),
        st.integers(1, 3),
    ),
    max_size=60,
)


def message(kind: str, dpid: int, port: int, session: int) -> pb.FromSession:
    common: Any = {"dpid": dpid, "session": session}
    if kind == "connected":
        return pb.FromSession(connected=pb.Connected(**common))
    if kind == "disconnected":
        return pb.FromSession(disconnected=pb.Disconnected(**common))
    if kind == "done":
        return pb.FromSession(done=pb.Done(**common))
    return pb.FromSession(port_state=pb.PortState(**common, port=port, live=kind == "up"))


def drained(outbox: _Outbox) -> list[pb.FromSession]:
    taken = []
    while (payload := outbox.take()) is not None:
        taken.append(pb.FromSession.FromString(payload))
    return taken


def seen(messages: list[pb.FromSession]) -> tuple[list[tuple[Any, ...]], dict[Any, bool]]:
    """All but port states in order, and the last state of each port in each session; raises where
    a port's state is outside its session."""
    others, states, current = [], {}, {}
    for each in messages:
        kind = str(each.WhichOneof("message"))
        inner = getattr(each, kind)
        if kind == "port_state":
            assert current.get(inner.dpid, inner.session) == inner.session
            states[inner.dpid, inner.session, inner.port] = inner.live
            continue
        others.append((kind, inner.dpid, inner.session))
        if kind == "connected":
            current[inner.dpid] = inner.session
        elif kind == "disconnected":
            current[inner.dpid] = -1
    return others, states


@given(EVENTS)
def test_only_the_newest_state_of_a_port_waits_and_stays_in_its_session(
    events: list[tuple[str, int, int]],
) -> None:
    outbox = _Outbox()
    outbox.grant(1 << 20)
    put, taken = [], []
    sessions = {1: 0, 2: 0}
    is_connected = {1: False, 2: False}
    for kind, dpid, port in events:
        if kind == "take":
            payload = outbox.take()
            taken += [pb.FromSession.FromString(payload)] if payload is not None else []
            continue
        if is_connected[dpid] == (kind == "connected"):
            continue
        is_connected[dpid] = kind != "disconnected"
        sessions[dpid] += kind == "connected"
        put.append(message(kind, dpid, port, sessions[dpid]))
        outbox.put(put[-1])
    taken += drained(outbox)
    assert seen(taken) == seen(put)


def test_a_port_that_flaps_for_ever_waits_as_one_message() -> None:
    outbox = _Outbox()
    for number in range(10_000):
        outbox.put(message("up" if number % 2 else "down", 1, number % 4, 1))
    outbox.put(message("disconnected", 1, 0, 1))
    outbox.put(message("connected", 1, 0, 2))
    outbox.put(message("down", 1, 3, 2))
    outbox.grant(1 << 20)
    taken = drained(outbox)
    assert [each.WhichOneof("message") for each in taken] == [
        *["port_state"] * 4,
        *("disconnected", "connected", "port_state"),
    ]
    assert [each.port_state.live for each in taken[:4]] == [False, True, False, True]
    assert not outbox._ordered_bytes
    assert not outbox._ports


def test_frames_that_were_heard_wait_for_each_other_and_a_flood_is_shed() -> None:
    outbox = _Outbox()
    outbox.grant(1 << 20)
    frame = pb.HeardFrame(dpid=1, session=1, port=1, frame=b"x" * 100)
    assert [outbox.put_heard(frame) for _ in range(3)] == [True, False, False]
    assert outbox.take() is None
    outbox.release_heard()
    outbox.put_sample(pb.Sample(dpid=1))
    outbox.put(message("done", 1, 1, 1))
    kinds = [each.WhichOneof("message") for each in drained(outbox)]
    assert kinds == ["done", "sample", "heard"]
    for _ in range(3 * HEARD_LIMIT):
        outbox.put_heard(frame)
    outbox.shed()
    outbox.release_heard()
    (heard,) = drained(outbox)
    assert (len(heard.heard.frames), heard.heard.shed) == (HEARD_LIMIT, 2 * HEARD_LIMIT + 1)
    assert outbox.put_heard(frame), "all is as at first"

"""An error about one switch stays with that switch."""

from __future__ import annotations

from typing import Any

import pytest
from ryu.base import app_manager  # noqa: F401  Ryu's controller cannot be imported before it.
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER

from apps.switches import Switches
from controller.dataplane.session.session import Session
from controller.openflow import decode
from heald.internal.v1 import session_pb2 as pb


class Connection:
    """What Switches sees of a SwitchConnection."""

    def __init__(self, dpid: int | None) -> None:
        self.id = dpid
        self.state = MAIN_DISPATCHER
        self.name = self.peer = "switch at 127.0.0.1:1"
        self.reason = ""
        self.is_malformed = False
        self.ports: dict[int, decode.PortDesc] = {}
        self.receiver: Any = None
        self.sent: list[bytes] = []
        self._xid = 0

    def take_xids(self, count: int) -> int:
        self._xid += count
        return self._xid - count + 1

    def send(self, buf: bytes) -> bool:
        self.sent.append(buf)
        return True

    def drop(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.state = DEAD_DISPATCHER


class Link:
    epoch = 1

    def __init__(self) -> None:
        self.sent: list[str | None] = []

    def send(self, message: pb.FromSession) -> None:
        self.sent.append(message.WhichOneof("message"))

    def sample(self, sample: pb.Sample) -> None: ...


@pytest.fixture
def link() -> Link:
    return Link()


@pytest.fixture
def switches(link: Link) -> Switches:
    return Switches(link, metrics=True)


def connected(switches: Switches, dpid: int | None) -> Any:
    connection: Any = Connection(dpid)
    switches.connected(connection)
    return connection


def expect(switches: Switches, *dpids: int) -> None:
    switches.from_brain(pb.FromBrain(expect=pb.Expect(switches={d: f"leaf-{d}" for d in dpids})))


def test_a_connection_without_datapath_id_is_dropped_and_forgotten(switches: Switches) -> None:
    nameless = connected(switches, None)
    assert nameless.state == DEAD_DISPATCHER
    switches.disconnected(nameless)
    expect(switches, 1)
    assert connected(switches, 1).receiver is not None


@pytest.mark.parametrize("step", ["begin", "read_back", "execute"])
def test_an_error_about_one_switch_drops_it_alone(
    switches: Switches,
    link: Link,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    step: str,
) -> None:
    sound = getattr(Session, step)

    def broken(session: Session, *args: Any, **kwargs: Any) -> None:
        if session.dpid == 1:
            raise TypeError("a mistake")
        sound(session, *args, **kwargs)

    first, second = connected(switches, 1), connected(switches, 2)
    if step != "begin":
        expect(switches, 1, 2)
    monkeypatch.setattr(Session, step, broken)
    expect(switches, 1, 2)
    for connection in (first, second):
        session = connection.receiver.number
        read_back = pb.ReadBack(dpid=connection.id, session=session)
        batch = pb.Batch(dpid=connection.id, session=session, epoch=1)
        switches.from_brain(pb.FromBrain(read_back=read_back))
        switches.from_brain(pb.FromBrain(batch=batch))
    assert (first.state, first.reason) == (DEAD_DISPATCHER, "internal error")
    assert second.state == MAIN_DISPATCHER
    assert "leaf-1: session ended by an error" in caplog.text
    switches.disconnected(first)
    assert link.sent[-1] == "disconnected"

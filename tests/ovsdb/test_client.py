"""Servers that are not there, or are no OVSDB; those that are, `mininet_tests/test_bfd.py` has."""

from __future__ import annotations

import queue
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from controller.ovsdb import client
from controller.ovsdb.client import Client
from controller.ovsdb.rows import Report, Trouble

WAIT_S = 30.0


@contextmanager
def troubles(address: str) -> Iterator[queue.Queue[str]]:
    heard: queue.Queue[str] = queue.Queue()

    def report(_: str, said: Report) -> None:
        assert isinstance(said, Trouble)
        heard.put(said.text)

    made = Client(address, {1: "leaf1"}, report)
    made.start()
    try:
        yield heard
    finally:
        made.stop()


def test_no_socket(tmp_path: Path) -> None:
    with troubles(f"unix:{tmp_path}/db.sock") as heard:
        assert "No such file" in heard.get(timeout=WAIT_S)
        # And again, after a pause.
        assert "No such file" in heard.get(timeout=WAIT_S)


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with troubles(f"tcp:127.0.0.1:{taken.getsockname()[1]}") as heard:
            assert "refused" in heard.get(timeout=WAIT_S)


def test_a_name_that_nobody_knows() -> None:
    with troubles("tcp:nowhere.invalid:6640") as heard:
        assert "nowhere.invalid cannot be resolved" in heard.get(timeout=WAIT_S)


def test_somebody_who_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_MS", 500)
    mute = socket.create_server(("127.0.0.1", 0))
    with closing(mute), troubles(f"tcp:127.0.0.1:{mute.getsockname()[1]}") as heard:
        assert "does not speak OVSDB" in heard.get(timeout=WAIT_S)


def test_somebody_who_says_something_else() -> None:
    web = socket.create_server(("127.0.0.1", 0))
    with closing(web), troubles(f"tcp:127.0.0.1:{web.getsockname()[1]}") as heard:
        tried, _ = web.accept()
        tried.close()
        talked, _ = web.accept()
        talked.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        assert heard.get(timeout=WAIT_S)
        talked.close()

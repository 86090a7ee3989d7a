"""Switches that connect by TLS, to a running session process."""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apps.peers import (
    PEM,
    Brain,
    Controller,
    RawSwitch,
    Switch,
    eventually,
    short_directory,
    switch_tls,
)


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        for name in ("controller.key", "controller.pem", "switches-ca.pem"):
            shutil.copy(PEM / name, path / name)
        yield path


@pytest.fixture
def controller(directory: Path) -> Iterator[Controller]:
    running = Controller(
        directory,
        f"--fabric-brain=unix:{directory}/b.sock",
        f"--ctl-privkey={directory}/controller.key",
        f"--ctl-cert={directory}/controller.pem",
        f"--ca-certs={directory}/switches-ca.pem",
        listens="ssl",
    )
    running.await_listening()
    yield running
    assert running.stop() == 0


@pytest.fixture
def brain(controller: Controller, directory: Path) -> Iterator[Brain]:
    listening = Brain(directory / "b.sock")
    listening.accept({number: f"s{number}" for number in range(1, 9)})
    yield listening
    listening.close()


def test_any_number_of_switches_connect_by_tls(controller: Controller, brain: Brain) -> None:
    """Ryu's own server loses its certificate with the first."""
    switches = [Switch(controller.port, number, tls=switch_tls()) for number in range(1, 6)]
    told = {brain.next("connected").connected.dpid for _ in switches}
    assert told == {1, 2, 3, 4, 5}
    brain.batch(3, 3, [])
    for switch in switches:
        switch.close()


def test_who_has_no_certificate_is_refused_and_disturbs_nobody(
    controller: Controller, brain: Brain
) -> None:
    honest = Switch(controller.port, 1, tls=switch_tls())
    brain.next("connected")
    plain = RawSwitch(controller.port)
    plain.send(b"\x06\x00\x00\x08\x00\x00\x00\x01")
    assert plain.ended(10)
    silent = [RawSwitch(controller.port) for _ in range(300)]
    assert is_refused(controller.port, switch_tls(with_certificate=False))
    second = Switch(controller.port, 2, tls=switch_tls())
    assert brain.next("connected").connected.dpid == 2
    assert not honest.closed.is_set()
    controller.await_log("no TLS")
    for connection in silent:
        connection.close()
    for switch in (honest, second):
        switch.close()


def is_refused(port: int, context: ssl.SSLContext) -> bool:
    connection = socket.create_connection(("127.0.0.1", port), 10)
    try:
        with context.wrap_socket(connection) as secured:
            # TLS 1.3 tells a client only after its own half is done.
            return not secured.recv(1)
    except OSError:
        return True


def test_new_certificates_are_taken_up_without_a_restart(
    controller: Controller, brain: Brain, directory: Path
) -> None:
    before = Switch(controller.port, 1, tls=switch_tls())
    brain.next("connected")

    def replace(name: str, source: Path) -> None:
        new = directory / "new"
        shutil.copy(source, new)
        new.replace(directory / name)

    (directory / "controller.key").write_text("half a file")
    seen: list[Switch] = []

    def connect(authority: str) -> bytes | None:
        seen.append(Switch(controller.port, 2, tls=switch_tls(authority=authority)))
        seen[-1].close()
        return seen[-1].certificate

    eventually(
        lambda: connect("controllers-ca") and "stay in use" in controller.log, "the complaint"
    )
    assert seen[-1].certificate == before.certificate
    replace("controller.key", PEM / "switch.key")
    replace("controller.pem", PEM / "switch.pem")

    def is_new() -> bool:
        try:
            return connect("switches-ca") != before.certificate
        except ssl.SSLCertVerificationError:
            return False

    eventually(is_new, "the new certificate")
    assert not before.closed.is_set()
    before.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ctl-privkey=key"], "TLS needs --ctl-cert"),
        (["--ctl-cert=cert"], "TLS needs --ctl-privkey"),
        (["--ca-certs=ca"], "TLS needs --ctl-privkey and --ctl-cert"),
        (["--ctl-privkey=none", "--ctl-cert=none"], "none: No such file"),
        (["--ctl-privkey=bad", "--ctl-cert=bad"], "no certificate with its private key"),
    ],
)
def test_what_is_wrong_with_the_options_is_said_in_one_line(
    directory: Path, options: list[str], said: str
) -> None:
    (directory / "bad").write_text("not PEM")
    running = Controller(
        directory, f"--fabric-brain=unix:{directory}/b.sock", *options, listens="ssl"
    )
    assert running.process.wait(20) == 3
    assert said in running.log
    assert "Traceback" not in running.log

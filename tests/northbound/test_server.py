"""The transport: binding, health, reflection, errors, stopping."""

from __future__ import annotations

import socket
import stat
import threading
import time
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import heald
from controller.northbound.server import AddressError, NorthboundServer
from heald import HealdError, UnreachableError, connectivity
from heald.v1 import intents_pb2, intents_pb2_grpc
from tests.northbound.harness import Served, make_links, make_plan


def test_only_the_owner_may_connect_to_the_socket(north: Served) -> None:
    path = Path(north.address.removeprefix("unix:"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_controllers_cannot_share_an_address(north: Served) -> None:
    async def start(address: str) -> str:
        return await NorthboundServer(
            north.book, north.drains, north.topologies, north.brain
        ).start(address)

    with pytest.raises(AddressError, match="another controller listens there"):
        north.run(start(north.address))
    with north.client() as client:
        client.status()
    address = north.run(start("127.0.0.1:0"))
    assert not address.endswith(":0")
    with pytest.raises(AddressError, match="the port is in use"):
        north.run(start(address))


def test_a_socket_left_by_a_killed_controller_is_replaced(north: Served, tmp_path: Path) -> None:
    path = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def start() -> None:
        server = NorthboundServer(north.book, north.drains, north.topologies, north.brain)
        await server.start(f"unix:{path}")
        await server.stop()

    north.run(start())


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("50051", "is no address"),
        ("host:port", "is no address"),
        ("127.0.0.1:70000", "is no address"),
        ("unix:/no/such/directory/s", "cannot listen there; let this user write"),
        (f"unix:/tmp/{'x' * 120}", "shorter"),
        (f"unix:{__file__}", "is a file, not a socket"),
    ],
)
def test_impossible_addresses_are_explained(north: Served, address: str, why: str) -> None:
    async def start() -> None:
        await NorthboundServer(north.book, north.drains, north.topologies, north.brain).start(
            address
        )

    with pytest.raises(AddressError, match=why):
        north.run(start())


def test_health_follows_readiness(north: Served) -> None:
    with grpc.insecure_channel(north.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        request = health_pb2.HealthCheckRequest(service="heald.v1.IntentService")
        assert stub.Check(request).status == health_pb2.HealthCheckResponse.SERVING
        north.run(north.server.set_ready(False))
        assert stub.Check(request).status == health_pb2.HealthCheckResponse.NOT_SERVING


def test_reflection_lists_the_services(north: Served) -> None:
    with grpc.insecure_channel(north.address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        answer = next(stub.ServerReflectionInfo(iter([request])))
    names = {service.name for service in answer.list_services_response.service}
    assert {
        "heald.v1.IntentService",
        "heald.v1.FabricService",
        "heald.v1.StatusService",
        "grpc.health.v1.Health",
    } <= names


def test_a_stop_with_open_watches_takes_less_than_a_second(north: Served) -> None:
    errors: list[HealdError] = []
    reading = threading.Barrier(9)

    def watch() -> None:
        with north.client() as client:
            events = client.watch()
            next(events)
            reading.wait(10)
            try:
                next(events)
            except HealdError as error:
                errors.append(error)

    threads = [threading.Thread(target=watch) for _ in range(8)]
    for thread in threads:
        thread.start()
    reading.wait(10)
    began = time.monotonic()
    north.stop()
    assert time.monotonic() - began < 1.0
    for thread in threads:
        thread.join(5)
    assert len(errors) == 8
    assert all("is stopping; watch again" in error.message for error in errors)
    north.start()


def test_nobody_listens(tmp_path: Path) -> None:
    with heald.connect(f"unix:{tmp_path}/none") as client:
        with pytest.raises(UnreachableError, match=r"no controller answers at .*heald run"):
            client.status()
        with pytest.raises(UnreachableError):
            next(client.watch())


def test_a_failure_inside_shows_no_traceback(
    north: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(north.brain, "view", lambda: 1 / 0)
    with north.client() as client, pytest.raises(HealdError) as caught:
        client.status()
    assert caught.value.code == "INTERNAL"
    assert "Zero" not in caught.value.message
    assert "ZeroDivisionError" in caplog.text


def test_a_broken_store_is_named(north: Served) -> None:
    north.run(north.store.close())
    with north.client() as client, pytest.raises(HealdError, match=r"heald\.db: closed"):
        client.apply([connectivity("a", all=True)])


def test_an_oversized_request_is_refused(north: Served) -> None:
    with north.client() as client:
        with pytest.raises(HealdError, match="larger than max"):
            client.apply([connectivity("a", hosts=["x" * 1000] * 5000)])
        assert list(client.list()) == []


def test_a_client_that_vanishes_frees_its_watch(north: Served) -> None:
    client = north.client()
    next(client.watch_links())
    assert len(north.brain.watchers) == 1
    client.close()
    deadline = time.monotonic() + 5
    while north.brain.watchers and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not north.brain.watchers


def test_a_caller_that_gives_up_leaves_memory_and_store_agreed(north: Served) -> None:
    with grpc.insecure_channel(north.address) as channel:
        stub = intents_pb2_grpc.IntentServiceStub(channel)
        for i in range(30):
            request = intents_pb2.ApplyRequest(intents=[connectivity(f"i{i}", all=True)])
            call = stub.Apply.future(request)
            time.sleep(i * 0.0001)
            call.cancel()
    with north.client() as client:
        client.apply([connectivity("last", all=True)])
    stored = north.run(north.store.range("lab/default/tenants/")).items
    assert [item.key.removeprefix("lab/default/") for item in stored] == sorted(north.book.intents)


def test_topology_links_plan_and_status(north: Served) -> None:
    with north.client() as client:
        fabric = client.topology()
        assert (fabric.name, fabric.version, len(fabric.hosts)) == ("lab", 3, 4)
        assert fabric.hosts[0].nics[0].attachments == ["leaf1:11"]
        assert fabric.hosts[0].nics[0].mac == "02:00:00:00:00:0b"
        with pytest.raises(HealdError, match="no plan yet"):
            client.plan()

        reports = client.watch_links(["leaf1-spine1"], timeout_s=10)
        assert not next(reports).links
        north.loop.call_soon_threadsafe(
            lambda: north.brain.show(
                links=make_links(north.brain.now.fabric), plan=make_plan(), plan_committed=True
            )
        )
        forth, back = next(reports).links
        assert (forth.from_port, forth.to_port) == ("leaf1:1", "spine1:1")
        assert (forth.planned_bps, forth.foreign_bps, forth.usable_bps) == (50e9, 60e9, 340e9)
        assert (back.planned_bps, back.foreign_bps) == (0.0, 0.0)
        with pytest.raises(HealdError, match=r"no link 'leaf1-spine3'; did you mean"):
            next(client.watch_links(["leaf1-spine3"]))

        plan = client.plan()
        assert plan.committed
        (placement,) = plan.placements
        assert [(t.weight, list(t.path)) for t in placement.trees] == [
            (5, ["leaf1", "spine1", "leaf2"]),
            (11, ["leaf1", "spine2", "leaf2"]),
        ]
        client.apply([connectivity("a", all=True)])
        status = client.status()
        assert (status.version, status.fabric, status.epoch) == (heald.__version__, "lab", 4)
        assert dict(status.intents_by_state) == {"PENDING": 1}
        assert status.plan.certificate.solver == "GLOP"
        assert not status.plan.placements

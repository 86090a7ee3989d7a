"""Between the session protocol and the engine: messages to events, commands to messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from controller.dataplane.readback import readback
from controller.engine import events as ev
from controller.engine.commands import OutgoingProbe, ReadSwitch, SendBatch
from controller.fabric.model import Fabric
from controller.openflow.decode import Description
from controller.openflow.descriptions import flow_descs, group_descs, meter_descs
from heald.internal.v1 import session_pb2 as pb

_OPENFLOW = {4: "1.3", 5: "1.4", 6: "1.5"}


def event(message: pb.FromSession, fabric: Fabric) -> ev.Event | None:
    """What a message tells the engine, but for Readback (`read`); None for a switch that the fabric
    does not have."""
    kind = message.WhichOneof("message")
    body = getattr(message, kind) if kind else None
    if body is None or not hasattr(body, "dpid"):
        return None
    switch = fabric.switch_by_dpid.get(body.dpid)
    if switch is None:
        return None
    name, session = switch.name, int(body.session)
    match kind:
        case "connected":
            ports = {p.port: p.live and not p.removed for p in body.ports}
            version = _OPENFLOW.get(body.openflow_version, str(body.openflow_version))
            return ev.SwitchConnected(name, session, version, body.peer, ports)
        case "described":
            said = Description(
                body.manufacturer, body.hardware, body.software, body.serial, body.datapath
            )
            return ev.SwitchDescribed(name, session, said)
        case "disconnected":
            return ev.SwitchDisconnected(name, session, body.reason)
        case "done":
            return ev.BatchDone(name, session, body.batch_id)
        case "failed":
            error = f"message {body.index} of {body.phase}: {body.error}"
            return ev.BatchFailed(name, session, body.batch_id, error)
        case "port_state":
            return ev.PortChanged(name, session, body.port, body.live and not body.removed)
        case "sample":
            return ev.CountersRead(
                name,
                session,
                body.time_s,
                port=_column(body.port),
                tx_bytes=_column(body.tx_bytes),
                tx_dropped=_column(body.tx_dropped),
                bucket_group=_column(body.bucket_group),
                bucket_index=_column(body.bucket_index),
                bucket_bytes=_column(body.bucket_bytes),
                queue_port=_column(body.queue_port),
                queue_id=_column(body.queue_id),
                queue_errors=_column(body.queue_errors),
            )
    return None


def heard(body: pb.Heard, fabric: Fabric) -> ev.FramesHeard:
    """Without the frames of switches that the fabric does not have."""
    switches = fabric.switch_by_dpid
    frames = tuple(
        ev.HeardFrame(switches[f.dpid].name, f.session, f.port, f.frame)
        for f in body.frames
        if f.dpid in switches
    )
    return ev.FramesHeard(frames, body.shed)


def read(
    switch: str, session: int, flows: list[bytes], groups: list[bytes], meters: list[bytes]
) -> ev.SwitchRead:
    """What a Readback tells the engine; thousands of flows take a while, so workers run this.

    Raises DecodeError when the switch sent what cannot be read.
    """
    tables, foreign = readback(
        chain.from_iterable(map(flow_descs, flows)),
        chain.from_iterable(map(group_descs, groups)),
        chain.from_iterable(map(meter_descs, meters)),
    )
    return ev.SwitchRead(switch, session, tables, foreign)


def _column(values: Sequence[int]) -> npt.NDArray[np.int64]:
    # Counters that a switch does not keep are all ones; they turn into -1.
    return np.array(values, dtype=np.uint64).astype(np.int64)


def batch(command: SendBatch, dpid: int, epoch: int) -> pb.FromBrain:
    return pb.FromBrain(
        batch=pb.Batch(
            dpid=dpid,
            session=command.session,
            epoch=epoch,
            plan=command.plan_id,
            phase=int(command.phase),
            batch_id=command.batch,
            messages=command.messages,
        )
    )


def probes(sent: Iterable[OutgoingProbe], fabric: Fabric) -> pb.FromBrain:
    message = pb.Probes()
    for probe in sent:
        message.probes.add(
            dpid=fabric.switch_by_name[probe.switch].dpid,
            session=probe.session,
            port=probe.port,
            frame=probe.frame,
        )
    return pb.FromBrain(probes=message)


def read_back_request(command: ReadSwitch, dpid: int) -> pb.FromBrain:
    return pb.FromBrain(read_back=pb.ReadBack(dpid=dpid, session=command.session))


def greeting(fabric: Fabric, interval_s: float) -> list[pb.FromBrain]:
    """What a session process is told first: which switches to expect, which addresses exist, how
    often to poll (0: never)."""
    addresses = [a.packed for nic in fabric.nics for a in nic.addresses]
    addresses += [fabric.gateway_ipv4.packed, fabric.gateway_ipv6.packed]
    return [
        pb.FromBrain(expect=pb.Expect(switches={s.dpid: s.name for s in fabric.switches})),
        pb.FromBrain(addresses=pb.Addresses(gateway_mac=fabric.gateway_mac, addresses=addresses)),
        pb.FromBrain(poll=pb.Poll(interval_s=interval_s)),
    ]

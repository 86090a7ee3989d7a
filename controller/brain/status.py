"""What the brain says of itself and its switches, as the northbound tells it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from controller.brain.refusals import Refusals
from controller.brain.session_socket import SessionProcess
from controller.brain.workers import Worker
from controller.engine.engine import Engine
from controller.engine.repairs import Repairs
from controller.engine.switches import SwitchRecord
from controller.optimizer import kernels
from controller.ovsdb.manager import OvsdbManager
from heald.v1 import fabric_pb2


def report(
    engine: Engine,
    ovsdb: OvsdbManager,
    workers: Sequence[Worker],
    processes: Sequence[SessionProcess],
    refusals: Refusals,
    store_problem: str,
    *,
    epoch: int,
    started_s: float,
) -> fabric_pb2.Status:
    """``started_s``: of the clock of the wall. What intents and plans are is not in it."""
    now, wall = time.monotonic(), time.time()
    status = fabric_pb2.Status(
        epoch=epoch,
        metrics_enabled=engine.metrics,
        problems=[
            *engine.problems(),
            *ovsdb.book.problems(),
            *ovsdb.queues.problems(),
            *filter(None, [store_problem, kernels.problem]),
        ],
        processes={"brain": f"pid {os.getpid()}"},
    )
    status.start_time.FromNanoseconds(int(started_s * 1e9))
    status.time.FromNanoseconds(int(wall * 1e9))
    waiting = "starting" if kernels.is_complete() else "starting (compiling the optimizer)"
    for worker in workers:
        status.processes[f"worker {worker.name}"] = f"pid {worker.pid}" if worker.pid else waiting
    for process in processes:
        status.processes[process.name] = "attached"
    _refused(status, refusals, wall)
    _repaired(status, engine.repairs, wall - now)
    for record in engine.reconciler.records.values():
        dpid = engine.fabric.switch_by_name[record.name].dpid
        status.switches.append(_switch(record, dpid, wall - now))
    return status


def _refused(status: fabric_pb2.Status, refusals: Refusals, wall: float) -> None:
    recent = refusals.recent(wall)
    if recent:
        status.problems.append(
            f"{recent[-1].peer} was turned away: {recent[-1].reason}"
            + (f"; and {len(recent) - 1} others" if len(recent) > 1 else "")
            + " (heald switches)"
        )
    for refusal in recent:
        refused = status.refused.add(peer=refusal.peer, dpid=refusal.dpid, reason=refusal.reason)
        refused.time.FromNanoseconds(int(refusal.time_s * 1e9))


def _repaired(status: fabric_pb2.Status, repairs: Repairs, epoch_s: float) -> None:
    """``epoch_s``: what the brain's clock lacks to that of the wall."""
    for repair in repairs.last:
        told = status.repairs.add(
            plan=repair.plan_id,
            gathered_s=repair.gathered_s - repair.heard_s,
            planned_s=max(0.0, repair.planned_s - repair.gathered_s),
            stored_s=max(0.0, repair.stored_s - repair.planned_s),
            installed_s=max(0.0, repair.installed_s - repair.stored_s),
            optimised_s=max(0.0, repair.optimised_s - repair.heard_s),
            switches=repair.switches,
            messages=repair.messages,
        )
        told.heard_time.FromNanoseconds(int((epoch_s + repair.heard_s) * 1e9))


def _switch(record: SwitchRecord, dpid: int, epoch_s: float) -> fabric_pb2.SwitchStatus:
    switch = fabric_pb2.SwitchStatus(
        name=record.name,
        dpid=dpid,
        connected=record.connected,
        state=record.state.value,
        detail=record.trouble,
        peer=record.peer,
        openflow=record.openflow,
        connects=record.connects,
        flows=len(record.installed.flows) if record.installed else 0,
        groups=len(record.installed.groups) if record.installed else 0,
        messages_sent=record.messages_sent,
        missing_ports=record.missing_ports,
        foreign_entries=record.foreign,
        last_error=record.last_error,
    )
    if record.since_s:
        switch.since.FromNanoseconds(int((epoch_s + record.since_s) * 1e9))
    if record.last_error:
        switch.last_error_time.FromNanoseconds(int((epoch_s + record.last_error_s) * 1e9))
    if record.description is not None:
        said = record.description
        switch.description.manufacturer = said.manufacturer
        switch.description.hardware = said.hardware
        switch.description.software = said.software
        switch.description.serial = said.serial
        switch.description.datapath = said.datapath
    return switch

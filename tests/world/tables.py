"""What emulated switches hold: as it is, and as they tell it."""

from __future__ import annotations

from controller.brain import translate
from controller.dataplane.tables import SwitchTables
from controller.emulator.switch import Connected, Disconnected, Switch
from controller.openflow import encode
from controller.openflow.encode import flow_key
from controller.openflow.model import Flow, Group, Meter
from controller.openflow.wire import MessageType, MultipartType, header, multipart, split

_DESCRIPTIONS = (MultipartType.FLOW_DESC, MultipartType.GROUP_DESC, MultipartType.METER_DESC)


def held(switch: Switch) -> SwitchTables:
    state = switch.state
    flows = {}
    for table in state.tables:
        for e in table:
            flow = Flow(e.table, e.priority, e.match, e.instructions, e.cookie)  # type: ignore[arg-type]
            flows[flow_key(flow)] = flow
    groups = {g.id: Group(g.id, g.type, g.definition) for g in state.groups.all()}
    meters = {
        m.id: Meter(m.id, m.bands[0].band.rate, m.bands[0].band.burst)
        for m in state.meters.values()
    }
    return SwitchTables(flows, groups, meters)


def told(name: str, switch: Switch, now: float) -> SwitchTables:
    """Over a connection of its own."""
    said = [switch.event(Connected("observer"), now).messages["observer"]]
    requests = (encode.flow_desc_request(), encode.group_desc_request())
    for message in (encode.hello(), *requests, encode.meter_desc_request()):
        effects = switch.receive("observer", message, now)
        said.append(effects.messages.get("observer", b""))
    switch.event(Disconnected("observer"), now)
    parts: dict[int, list[bytes]] = {kind: [] for kind in _DESCRIPTIONS}
    for message in split(b"".join(said))[0]:
        if header(message).type == MessageType.MULTIPART_REPLY:
            parts[multipart(message)[0]].append(message)
    flows, groups, meters = (parts[kind] for kind in _DESCRIPTIONS)
    return translate.read(name, 0, flows, groups, meters).tables

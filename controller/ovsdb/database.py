"""The tables of Open vSwitch's database that Heald uses, read and written through a replica.

The replica is that of the Open vSwitch project (``ovs.db.idl``): it follows the database, and its
transactions fail rather than overwrite what another client has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.ovsdb.bfd import KEYS
from controller.ovsdb.library import Idl, SchemaHelper, Transaction
from controller.ovsdb.qos_rows import qos_of, set_qos
from controller.ovsdb.rows import (
    MARK,
    Change,
    Contents,
    InterfaceRow,
    SetBfd,
    SwitchQueues,
    SwitchRows,
)

PROBE_MS = 5000
"""A server that is silent for so long is asked, and given up after as long again."""

_TEXT = {"type": "string"}
_MAP = {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}}


def _optional(kind: str) -> dict[str, Any]:
    return {"type": {"key": kind, "min": 0, "max": 1}}


def _many(table: str) -> dict[str, Any]:
    key = {"type": "uuid", "refTable": table}
    return {"type": {"key": key, "min": 0, "max": "unlimited"}}


def _one(table: str) -> dict[str, Any]:
    return {"type": {"key": {"type": "uuid", "refTable": table}, "min": 0, "max": 1}}


def _numbered(table: str) -> dict[str, Any]:
    value = {"type": "uuid", "refTable": table}
    return {"type": {"key": "integer", "value": value, "min": 0, "max": "unlimited"}}


SCHEMA = {
    "name": "Open_vSwitch",
    "version": "8.0.0",
    "tables": {
        "Bridge": {
            "columns": {
                "datapath_id": _optional("string"),
                "datapath_type": _TEXT,
                "ports": _many("Port"),
            },
            "isRoot": True,
        },
        "Port": {
            "columns": {"interfaces": _many("Interface"), "qos": _one("QoS")},
            "isRoot": True,
        },
        "QoS": {
            "columns": {
                "type": _TEXT,
                "other_config": _MAP,
                "external_ids": _MAP,
                "queues": _numbered("Queue"),
            },
            "isRoot": True,
        },
        "Queue": {"columns": {"other_config": _MAP, "external_ids": _MAP}, "isRoot": True},
        "Interface": {
            "columns": {
                "name": _TEXT,
                "ofport": _optional("integer"),
                "bfd": _MAP,
                "bfd_status": _MAP,
                "external_ids": _MAP,
            },
            "isRoot": True,
        },
    },
}
"""So much of the schema as is used; servers of all releases have it."""


class Database(Idl):  # type: ignore[misc]
    """A replica of one server's database; not for use in several threads."""

    def __init__(self, remote: str) -> None:
        helper = SchemaHelper(schema_json=SCHEMA)
        helper.register_all()
        super().__init__(remote, helper, probe_interval=PROBE_MS, leader_only=False)

    @property
    def is_connected(self) -> bool:
        return bool(self._session.is_connected())

    @property
    def is_read(self) -> bool:
        """Whether the replica has all that the server had when it last connected."""
        return self.is_connected and self.state == Idl.IDL_S_MONITORING

    def contents(self, switches: Mapping[int, str]) -> Contents:
        """``switches``: names by datapath id."""
        found: dict[str, SwitchRows] = {}
        queues: dict[str, SwitchQueues] = {}
        for dpid, bridge in self._bridges().items():
            if dpid in switches:
                ports = _ports(bridge)
                found[switches[dpid]] = {n: _row(row) for n, (_, row) in ports.items()}
                of_ports = {n: qos_of(row) for n, (row, _) in ports.items()}
                queues[switches[dpid]] = SwitchQueues(bridge.datapath_type, of_ports)
        return Contents(found, queues)

    def transaction(self, changes: Iterable[Change], dpids: Mapping[str, int]) -> Transaction:
        """Not yet committed; what is gone meanwhile is left out."""
        made = Transaction(self)
        ports = {dpid: _ports(bridge) for dpid, bridge in self._bridges().items()}
        for change in changes:
            # A switch may have another name since.
            dpid = dpids.get(change.port.switch, 0)
            port, interface = ports.get(dpid, {}).get(change.port.port, (None, None))
            if interface is None:
                continue
            if isinstance(change, SetBfd):
                _set_bfd(interface, change.settings)
            else:
                set_qos(made, port, change.wanted)
        made.add_comment("heald")
        return made

    def _bridges(self) -> dict[int, Any]:
        """By datapath id."""
        return {
            int(bridge.datapath_id[0], 16): bridge
            for bridge in self.tables["Bridge"].rows.values()
            if bridge.datapath_id
        }


def _ports(bridge: Any) -> dict[int, tuple[Any, Any]]:
    """Rows of port and interface by OpenFlow port; a bond has several interfaces, each with its
    own."""
    return {
        interface.ofport[0]: (port, interface)
        for port in bridge.ports
        for interface in port.interfaces
        if interface.ofport
    }


def _row(interface: Any) -> InterfaceRow:
    return InterfaceRow(
        {key: value for key, value in interface.bfd.items() if key in KEYS},
        "bfd" in interface.external_ids.get(MARK, "").split(),
        interface.bfd_status.get("state", ""),
    )


def _set_bfd(interface: Any, settings: Mapping[str, str]) -> None:
    interface.verify("bfd")
    interface.verify("external_ids")
    kept = {key: value for key, value in interface.bfd.items() if key not in KEYS}
    interface.bfd = {**kept, **settings}
    marks = set(interface.external_ids.get(MARK, "").split()) - {"bfd"}
    marks |= {"bfd"} if settings else set()
    others = {key: value for key, value in interface.external_ids.items() if key != MARK}
    interface.external_ids = {**others, MARK: " ".join(sorted(marks))} if marks else others

"""The tables of Open vSwitch's database that Heald uses, read and written through a replica.

The replica is that of the Open vSwitch project (``ovs.db.idl``): it follows the database, and its
transactions fail rather than overwrite what another client has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.ovsdb.bfd import KEYS
from controller.ovsdb.library import Idl, SchemaHelper, Transaction
from controller.ovsdb.rows import Contents, InterfaceRow, SetBfd, SwitchRows

MARK = "heald"
"""Key of ``external_ids``: which columns of the row are Heald's."""
PROBE_MS = 5000
"""A server that is silent for so long is asked, and given up after as long again."""

_TEXT = {"type": "string"}
_MAP = {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}}


def _optional(kind: str) -> dict[str, Any]:
    return {"type": {"key": kind, "min": 0, "max": 1}}


def _many(table: str) -> dict[str, Any]:
    key = {"type": "uuid", "refTable": table}
    return {"type": {"key": key, "min": 0, "max": "unlimited"}}


SCHEMA = {
    "name": "Open_vSwitch",
    "version": "8.0.0",
    "tables": {
        "Bridge": {
            "columns": {"datapath_id": _optional("string"), "ports": _many("Port")},
            "isRoot": True,
        },
        "Port": {"columns": {"interfaces": _many("Interface")}, "isRoot": True},
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
        for dpid, ports in self._interfaces().items():
            if dpid in switches:
                found[switches[dpid]] = {port: _row(row) for port, row in ports.items()}
        return Contents(found)

    def transaction(self, changes: Iterable[SetBfd], dpids: Mapping[str, int]) -> Transaction:
        """Not yet committed; what is gone meanwhile is left out."""
        made = Transaction(self)
        interfaces = self._interfaces()
        for change in changes:
            row = interfaces.get(dpids[change.port.switch], {}).get(change.port.port)
            if row is not None:
                _set_bfd(row, change.settings)
        made.add_comment("heald")
        return made

    def _interfaces(self) -> dict[int, dict[int, Any]]:
        """By datapath id and OpenFlow port; a bond has several interfaces, each with its own."""
        out: dict[int, dict[int, Any]] = {}
        for bridge in self.tables["Bridge"].rows.values():
            if not bridge.datapath_id:
                continue
            out[int(bridge.datapath_id[0], 16)] = {
                interface.ofport[0]: interface
                for port in bridge.ports
                for interface in port.interfaces
                if interface.ofport
            }
        return out


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

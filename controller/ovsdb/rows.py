"""What a database says of switches, and the changes that are made to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.fabric.model import PortRef

MARK = "heald"
"""Key of ``external_ids``: which columns of the row are Heald's."""

BfdSettings: TypeAlias = Mapping[str, str]
"""The keys of column ``bfd`` that are Heald's business; empty for none of them."""


@dataclass(frozen=True, slots=True)
class InterfaceRow:
    """``ours``: Heald has set ``bfd``. ``bfd_state`` is ``up``, ``init``, ``down``, ``admin_down``,
    or empty where there is no BFD."""

    bfd: BfdSettings = field(default_factory=dict)
    ours: bool = False
    bfd_state: str = ""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """``config`` is its other_config; ``ids`` its external_ids, by which an operator sees what it
    is for."""

    config: Mapping[str, str]
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QosRow:
    """The QoS of a port with its queues by number. ``ours``: Heald has made it."""

    kind: str
    config: Mapping[str, str]
    queues: Mapping[int, QueueRow]
    ours: bool


@dataclass(frozen=True, slots=True)
class SwitchQueues:
    """``datapath`` is its type; ``ports`` all that it has, by OpenFlow port."""

    datapath: str
    ports: Mapping[int, QosRow | None]


SwitchRows: TypeAlias = Mapping[int, InterfaceRow]
"""By OpenFlow port."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Those switches of the fabric that the database has, by name."""

    switches: Mapping[str, SwitchRows]
    queues: Mapping[str, SwitchQueues] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trouble:
    """In words: no connection, or a refused transaction. What was known before says nothing now."""

    text: str


Report: TypeAlias = Contents | Trouble


@dataclass(frozen=True, slots=True)
class SetQueues:
    """Give a port this QoS, or take Heald's away; rows that are Heald's are changed in place."""

    port: PortRef
    wanted: QosRow | None


@dataclass(frozen=True, slots=True)
class SetBfd:
    """Give an interface these settings, and mark them as Heald's; empty takes both away."""

    port: PortRef
    settings: BfdSettings


Change: TypeAlias = SetBfd | SetQueues

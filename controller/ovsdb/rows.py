"""What a database says of switches, and the changes that are made to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from controller.fabric.model import PortRef

BfdSettings: TypeAlias = Mapping[str, str]
"""The keys of column ``bfd`` that are Heald's business; empty for none of them."""


@dataclass(frozen=True, slots=True)
class InterfaceRow:
    """``ours``: Heald has set ``bfd``. ``bfd_state`` is ``up``, ``init``, ``down``, ``admin_down``,
    or empty where there is no BFD."""

    bfd: BfdSettings = field(default_factory=dict)
    ours: bool = False
    bfd_state: str = ""


SwitchRows: TypeAlias = Mapping[int, InterfaceRow]
"""By OpenFlow port."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Those switches of the fabric that the database has, by name."""

    switches: Mapping[str, SwitchRows]


@dataclass(frozen=True, slots=True)
class Trouble:
    """In words: no connection, or a refused transaction. What was known before says nothing now."""

    text: str


Report: TypeAlias = Contents | Trouble


@dataclass(frozen=True, slots=True)
class SetBfd:
    """Give an interface these settings, and mark them as Heald's; empty takes both away."""

    port: PortRef
    settings: BfdSettings

"""What was seen of a switch that decides where it sends, to tell later what of it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from controller.emulator.nodes import Node

_Port: TypeAlias = tuple[int, int, bool, bool]
"""Identity, configuration, carrier, and whether liveness protocols find the other end."""


@dataclass(frozen=True, slots=True)
class Seen:
    """``epoch`` counts the switches that have been in this place; ``tables`` is None where none
    is."""

    epoch: int
    tables: tuple[int, int, bool] | None
    ports: Mapping[int, _Port]

    @staticmethod
    def of(node: Node) -> Seen:
        if node.switch is None:
            return Seen(node.epoch, None, {})
        state = node.switch.state
        return Seen(
            node.epoch,
            (state.changes, state.groups.changes, state.forwarding.drop_fragments),
            {p.number: (id(p), p.config, p.link, p.forwarding) for p in state.ports.all()},
        )

    def continues(self, before: Seen) -> bool:
        """Whether it is the same switch with the same ports, or one that has been switched off."""
        if self.tables is None:
            return True
        return (
            self.epoch == before.epoch
            and self.ports.keys() == before.ports.keys()
            and all(port[0] == before.ports[n][0] for n, port in self.ports.items())
        )

    def same_tables(self, before: Seen) -> bool:
        return self.tables == before.tables

    def changed_ports(self, before: Seen) -> set[int]:
        return {n for n, port in before.ports.items() if self.ports.get(n) != port}

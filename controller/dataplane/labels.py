"""Tree labels: what a packet carries as its destination MAC between its first and its last switch.

48 bits: ``0x0e`` (8) | generation (2) | tree (10) | egress (14) | segment (14). 0x0e makes it a
locally administered unicast address, so hardware forwards it like any other. The generation counts
repairs: a switch that moves a packet to another tree adds one, and the last generation is not
repaired, so that a packet follows at most four trees whatever fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.openflow.model import Field, SetField

PREFIX = 0x0E
GENERATIONS = 4
LAST_GENERATION = GENERATIONS - 1
TREES = 1 << 10
EGRESSES = 1 << 14
SEGMENTS = 1 << 14

_GENERATION_SHIFT, _TREE_SHIFT, _EGRESS_SHIFT = 38, 28, 14
PREFIX_MASK = 0xFF << 40
GENERATION_MASK = (GENERATIONS - 1) << _GENERATION_SHIFT
TREE_MASK = (TREES - 1) << _TREE_SHIFT
EGRESS_MASK = (EGRESSES - 1) << _EGRESS_SHIFT
SEGMENT_MASK = SEGMENTS - 1


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """A packet on tree ``tree`` of egress ``egress``, repaired ``generation`` times."""

    generation: int
    tree: int
    egress: int
    segment: int = 0

    def pack(self) -> int:
        """The MAC address; ValueError where a field does not fit."""
        if not (
            0 <= self.generation < GENERATIONS
            and 0 <= self.tree < TREES
            and 0 <= self.egress < EGRESSES
            and 0 <= self.segment < SEGMENTS
        ):
            raise ValueError(
                f"{self} does not fit: there are {GENERATIONS} generations, {TREES} trees, "
                f"{EGRESSES} egresses and {SEGMENTS} segments"
            )
        return (
            PREFIX << 40
            | self.generation << _GENERATION_SHIFT
            | self.tree << _TREE_SHIFT
            | self.egress << _EGRESS_SHIFT
            | self.segment
        )

    @staticmethod
    def unpack(mac: int) -> Label | None:
        """The label that ``mac`` is, or None for the address of a host."""
        if mac >> 40 != PREFIX:
            return None
        return Label(
            (mac & GENERATION_MASK) >> _GENERATION_SHIFT,
            (mac & TREE_MASK) >> _TREE_SHIFT,
            (mac & EGRESS_MASK) >> _EGRESS_SHIFT,
            mac & SEGMENT_MASK,
        )


def of_egress(egress: int) -> tuple[int, int]:
    """(value, mask) that matches every label of the egress."""
    return Label(0, 0, egress).pack(), PREFIX_MASK | EGRESS_MASK | SEGMENT_MASK


def of_tree(egress: int, tree: int) -> tuple[int, int]:
    """(value, mask) that matches the tree's labels of all generations."""
    value, mask = of_egress(egress)
    return value | Label(0, tree, egress).pack(), mask | TREE_MASK


def of_generation(generation: int) -> tuple[int, int]:
    """(value, mask) that matches all labels of one generation."""
    return Label(generation, 0, 0).pack(), PREFIX_MASK | GENERATION_MASK


def move(generation: int, tree: int) -> SetField:
    """Puts a packet on another tree of its egress: the destination stays, so one action, and one
    group, serves all egresses."""
    mask = GENERATION_MASK | TREE_MASK
    return SetField(Field.ETH_DST, Label(generation, tree, 0).pack() & mask, mask)


def write(label: Label) -> SetField:
    return SetField(Field.ETH_DST, label.pack())

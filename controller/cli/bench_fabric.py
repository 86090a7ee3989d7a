"""The fabrics that benchmarks run on, as topology files."""

from __future__ import annotations

from controller.fabric.generate import kinds, write
from controller.fabric.generate.draft import Value
from controller.fabric.schema import Defaults


def fat_tree(k: int) -> str:
    """With a host for each port of an edge switch, and 100 Gbit/s everywhere. Raises
    ParameterErrors."""
    made = kinds.elements(kinds.read({"kind": "fat-tree", "k": str(k)}), Defaults())
    defaults: dict[str, Value] = {"link": {"capacity": "100G"}, "nic": {"capacity": "100G"}}
    return write.expanded(f"fat-tree-{k}", defaults, made)

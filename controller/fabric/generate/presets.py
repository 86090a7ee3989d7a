"""Published fabrics, as parameters of their kind.

The sizes and rates are those of the topology templates of SimAI, Alibaba's simulator of training
clusters (Apache-2.0; its tutorial, and where that contradicts itself, its template generator). All
have 8 GPUs to a host and links of 500 ns. A NIC of two ports has the rate of both together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """``parameters``, and the rates of NICs and links, are words of a topology file."""

    kind: str
    about: str
    parameters: Mapping[str, str]
    nic: str
    link: str
    model: str
    latency: str = "500ns"


_SOURCE = "Sizes and rates: the {} template of the SimAI simulator."

PRESETS: Mapping[str, Preset] = {
    "spectrum-x": Preset(
        "rail",
        "A pod in the manner of Spectrum-X: 4,096 GPUs, rail-optimised, no oversubscription. "
        + _SOURCE.format("Spectrum-X"),
        {"segments": "8", "hosts": "64", "rails": "8", "spines": "64"},
        nic="400G",
        link="400G",
        model="H100",
    ),
    "hpn-single-plane": Preset(
        "dual-plane",
        "A pod in the manner of Alibaba HPN with one plane: 15,360 GPUs, rail-optimised, NICs of "
        "2 x 200G on two leaves. " + _SOURCE.format("AlibabaHPN single-plane"),
        {"segments": "15", "hosts": "128", "rails": "8", "spines": "120", "planes": "1"},
        nic="400G",
        link="400G",
        model="H100",
    ),
    "hpn-dual-plane": Preset(
        "dual-plane",
        "A pod in the manner of Alibaba HPN with two planes: 15,360 GPUs, rail-optimised, NICs of "
        "2 x 200G, 60 spines to a plane, so 16:15 at the leaves. "
        + _SOURCE.format("AlibabaHPN dual-plane"),
        {"segments": "15", "hosts": "128", "rails": "8", "spines": "60", "planes": "2"},
        nic="400G",
        link="400G",
        model="H100",
    ),
    "dcn-plus": Preset(
        "dual-plane",
        "A pod in the manner of Alibaba DCN+: 512 GPUs, all NICs of a host (2 x 200G) on one pair "
        "of leaves, 8:1 at the leaves. " + _SOURCE.format("DCN+ dual-ToR"),
        {"segments": "4", "hosts": "16", "rails": "1", "nics": "8", "spines": "8", "planes": "1"},
        nic="400G",
        link="400G",
        model="H100",
    ),
    "dcn-plus-single-tor": Preset(
        "rail",
        "A pod in the manner of Alibaba DCN+ with single leaves: 512 GPUs, all NICs of a host on "
        "one leaf, 8:1 at the leaves. " + _SOURCE.format("DCN+ single-ToR"),
        {"segments": "8", "hosts": "8", "rails": "1", "nics": "8", "spines": "8"},
        nic="400G",
        link="400G",
        model="A100",
    ),
}

"""The demo on emulated switches, between which traffic flows as a fluid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from controller.lab import demo
from controller.lab.demo import Progress, Reading, Reroute
from controller.lab.emulated import EmulatedLab

_HEADER_BYTES = 42
"""Of Ethernet, IPv4 and UDP."""


class EmulatedBed:
    mode = "emulated"
    measure_s = 2.0
    steady_s = 2.0

    def __init__(self, topology: Path) -> None:
        """Raises LabError, and TopologyErrors."""
        self.lab = EmulatedLab(topology)

    def __enter__(self) -> EmulatedBed:
        return self

    def __exit__(self, *_: object) -> None:
        self.lab.stop()

    @property
    def controller_options(self) -> Sequence[str]:
        return self.lab.controller_options

    def start_traffic(self) -> None:
        frame = demo.PAYLOAD_BYTES + _HEADER_BYTES
        how = f"{demo.FLOW_BPS / 1e6:g}M flows={demo.SOURCE_PORTS} frame_bytes={frame} adapts=false"
        for source, destination in demo.PAIRS:
            self.lab.command(f"traffic {source} {destination} {how}")

    def readings(self) -> Mapping[str, Reading]:
        answer = self.lab.command("ports")
        return {row["port"]: Reading(answer.time_s, row["tx_bytes"]) for row in answer.records()}

    def cut(self, progress: Progress) -> Reroute:
        """Cut the busiest link. How long switches need to see that is not emulated, so this shows
        that their groups lead around it, and not how soon."""
        names = {link.name for link in self.lab.fabric.links}
        links = [row for row in self.lab.command("links").records() if row["link"] in names]
        link = max(links, key=lambda row: row["load_bps"])["link"]
        progress(f"cutting {link}")
        self.lab.command(f"link {link} down")
        flowing = self.lab.command("traffic").records()
        self.lab.command(f"link {link} up")
        progress(f"{link} is back")
        offered = sum(row["rate_bps"] for row in flowing)
        return Reroute(link, offered, sum(row["delivered_bps"] for row in flowing))

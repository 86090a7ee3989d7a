"""Ports: configuration, link, counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from controller.openflow.messages import Ethernet, PortConfig, PortDescription, PortState
from controller.openflow.model import Port

_PORT_DOWN = PortConfig.PORT_DOWN.value
_NO_FORWARDING = PortConfig.NO_FWD.value


@dataclass(slots=True)
class QueueState:
    """A queue of a port. Rates are shares of the port's speed, in tenths of a percent."""

    min_rate: int | None = None
    max_rate: int | None = None
    tx_packets: int = 0
    tx_bytes: int = 0
    tx_dropped: int = 0


@dataclass(slots=True)
class PortEntry:
    """``link`` is the carrier: whether the other end is there and up. ``speed_bps`` is 0 where the
    switch does not know it. ``forwarding`` is whether liveness protocols find the other end."""

    number: int
    name: str
    mac: int
    speed_bps: int = 0
    config: int = 0
    link: bool = True
    forwarding: bool = True
    created: float = 0.0
    queues: dict[int, QueueState] = field(default_factory=dict)
    rx_packets: int = 0
    tx_packets: int = 0
    rx_bytes: int = 0
    tx_bytes: int = 0
    rx_dropped: int = 0
    tx_dropped: int = 0
    rx_errors: int = 0
    tx_errors: int = 0

    @property
    def up(self) -> bool:
        return self.link and not self.config & _PORT_DOWN

    @property
    def live(self) -> bool:
        """Usable by a bucket that watches it."""
        return self.up and self.forwarding

    @property
    def state(self) -> int:
        if not self.up:
            return PortState.LINK_DOWN
        return PortState.LIVE if self.forwarding else 0

    def reset_counters(self) -> None:
        self.rx_packets = self.tx_packets = self.rx_bytes = self.tx_bytes = 0
        self.rx_dropped = self.tx_dropped = self.rx_errors = self.tx_errors = 0
        for queue in self.queues.values():
            queue.tx_packets = queue.tx_bytes = queue.tx_dropped = 0

    def description(self) -> PortDescription:
        kbps = self.speed_bps // 1000
        ethernet = Ethernet(current_speed_kbps=kbps)
        return PortDescription(self.number, self.mac, self.name, self.config, self.state, ethernet)


class PortTable:
    def __init__(self, ports: Iterable[PortEntry] = ()) -> None:
        self._ports = {port.number: port for port in ports}

    def __contains__(self, number: int) -> bool:
        return number in self._ports

    def get(self, number: int) -> PortEntry | None:
        return self._ports.get(number)

    def all(self) -> list[PortEntry]:
        return [self._ports[number] for number in sorted(self._ports)]

    def add(self, port: PortEntry) -> None:
        self._ports[port.number] = port

    def remove(self, number: int) -> PortEntry | None:
        return self._ports.pop(number, None)

    def is_live(self, number: int) -> bool:
        port = self._ports.get(number)
        return port is not None and port.live

    def forwards(self, number: int) -> bool:
        """Whether a packet is handed to the port; whether it gets on the wire is another matter."""
        port = self._ports.get(number)
        return port is not None and not port.config & _NO_FORWARDING

    def flooded(self) -> list[int]:
        return list(self._ports)


def local_port(name: str, mac: int) -> PortEntry:
    """The switch's own: nothing is connected to it, and it is down."""
    return PortEntry(Port.LOCAL, name, mac, config=PortConfig.PORT_DOWN, link=False)

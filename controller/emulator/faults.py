"""Faults put into a network: at its time each changes some knob, and at its end changes it back.

Whatever is random in them is drawn from a seed, so the same script and seed give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

from controller.emulator.fault_kinds import (
    ClockSkew,
    DelayedReplies,
    Disconnect,
    Fault,
    FaultError,
    Flapping,
    Latency,
    LinkDown,
    LostReplies,
    PowerLoss,
    SilentLoss,
    StalledReader,
    SwitchFault,
    TableFull,
    WireFault,
    WrongCounters,
)
from controller.emulator.keys import did_you_mean
from controller.emulator.network import Network
from controller.emulator.nodes import Node
from controller.emulator.wires import Wire

_REASONS = count()
"""Of cuts: two faults of whatever scripts cut a wire each for its own."""


def install(network: Network, script: Iterable[Fault], seed: int | str = 0) -> None:
    """Note all faults of the script. Raises FaultError where it names what is not there."""
    script = tuple(script)
    _check(network, script)
    for number, fault in enumerate(script):
        _Installed(network, fault, Random(f"{seed}/{number}")).note()


def _check(network: Network, script: Sequence[Fault]) -> None:
    problems = []
    for fault in script:
        if isinstance(fault, WireFault) and fault.wire not in network.wires:
            near = did_you_mean(fault.wire, network.wires)
            problems.append(f"{fault.kind}: there is no wire {fault.wire!r}{near}")
        elif isinstance(fault, SilentLoss) and fault.towards is not None:
            ends = [_name(d.head) for d in network.wires[fault.wire].directions]
            if fault.towards not in ends:
                text = f"wire {fault.wire!r} leads to {' and '.join(ends)}, not {fault.towards!r}"
                problems.append(f"{fault.kind}: {text}")
        if isinstance(fault, SwitchFault) and fault.switch not in network.nodes:
            near = did_you_mean(fault.switch, network.nodes)
            problems.append(f"{fault.kind}: there is no switch {fault.switch!r}{near}")
        if fault.until_s is not None and fault.until_s < fault.at_s:
            problems.append(f"{fault.kind}: ends at {fault.until_s} s, begins at {fault.at_s} s")
        if isinstance(fault, Disconnect) and fault.by not in ("switch", "controller"):
            problems.append(f'{fault.kind}: `by` is {fault.by!r}, not "switch" or "controller"')
        if isinstance(fault, SilentLoss | LostReplies) and not 0 <= fault.rate <= 1:
            problems.append(f"{fault.kind}: a rate of {fault.rate} is not from 0 to 1")
        if isinstance(fault, Flapping) and not (fault.period_s > 0 and 0 < fault.down_share < 1):
            problems.append(f"{fault.kind}: needs a period above 0 and a share between 0 and 1")
        if isinstance(fault, WrongCounters) and fault.factor < 0:
            problems.append(f"{fault.kind}: counters cannot count {fault.factor} for each packet")
    if problems:
        raise FaultError("\n".join(problems))


def _name(end: Any) -> str:
    return str(getattr(end, "switch", None) or end.nic)


class _Installed:
    """One fault of a network. Of two at once that turn the same knob, the later one counts, and the
    end of either is the end of both."""

    def __init__(self, network: Network, fault: Fault, random: Random) -> None:
        self._network = network
        self._fault = fault
        self._random = random
        self._reason = f"fault {next(_REASONS)}"

    def note(self) -> None:
        fault = self._fault
        begin, end = _KNOBS[type(fault)]
        self._network.at(fault.at_s, lambda now: begin(self, fault, now))
        if fault.until_s is not None and end is not None:
            self._network.at(fault.until_s, lambda now: end(self, fault, now))

    def _wire(self, fault: WireFault) -> Wire:
        return self._network.wires[fault.wire]

    def _node(self, fault: SwitchFault) -> Node:
        return self._network.nodes[fault.switch]

    def cut(self, fault: WireFault, now: float) -> None:
        self._network.cut(fault.wire, now, self._reason)

    def mend(self, fault: WireFault, now: float) -> None:
        self._network.mend(fault.wire, now, self._reason)

    def flap(self, fault: Flapping, now: float) -> None:
        if fault.until_s is not None and now >= fault.until_s:
            return
        self.cut(fault, now)
        self._network.at(
            now + fault.period_s * fault.down_share, lambda later: self.mend(fault, later)
        )
        self._network.at(now + fault.period_s, lambda later: self.flap(fault, later))

    def lose(self, fault: SilentLoss, now: float) -> None:
        self._set_loss(fault, fault.rate)

    def lose_no_more(self, fault: SilentLoss, now: float) -> None:
        self._set_loss(fault, 0.0)

    def _set_loss(self, fault: SilentLoss, rate: float) -> None:
        for direction in self._wire(fault).directions:
            if fault.towards is None or _name(direction.head) == fault.towards:
                direction.loss = rate
        self._network.wires_version += 1

    def lengthen(self, fault: Latency, now: float) -> None:
        self._wire(fault).extra_s = fault.extra_s
        self._network.wires_version += 1

    def shorten(self, fault: Latency, now: float) -> None:
        self._wire(fault).extra_s = 0.0
        self._network.wires_version += 1

    def power_off(self, fault: PowerLoss, now: float) -> None:
        self._network.power_off(fault.switch, now)

    def power_on(self, fault: PowerLoss, now: float) -> None:
        self._network.power_on(fault.switch, now)

    def stall(self, fault: StalledReader, now: float) -> None:
        self._node(fault).stalled = True

    def read(self, fault: StalledReader, now: float) -> None:
        self._network.resume_reading(self._node(fault), now)

    def delay(self, fault: DelayedReplies, now: float) -> None:
        self._node(fault).delay = lambda: self._random.uniform(fault.least_s, fault.most_s)

    def delay_no_more(self, fault: DelayedReplies, now: float) -> None:
        self._node(fault).delay = None

    def lose_replies(self, fault: LostReplies, now: float) -> None:
        self._node(fault).loses = lambda _: self._random.random() < fault.rate

    def lose_no_replies(self, fault: LostReplies, now: float) -> None:
        self._node(fault).loses = None

    def fill(self, fault: TableFull, now: float) -> None:
        switch = self._node(fault).switch
        if switch is not None:
            state = switch.state
            state.persona = replace(state.persona, max_flows=state.flows + fault.room)

    def make_room(self, fault: TableFull, now: float) -> None:
        node = self._node(fault)
        if node.switch is not None:
            node.switch.state.persona = node.persona

    def miscount(self, fault: WrongCounters, now: float) -> None:
        node = self._node(fault)
        self._network.before_reading(fault.switch)
        node.count_factor = fault.factor
        if fault.reset and node.switch is not None:
            node.switch.state.reset_counters()

    def count(self, fault: WrongCounters, now: float) -> None:
        self._network.before_reading(fault.switch)
        self._node(fault).count_factor = 1.0

    def skew(self, fault: ClockSkew, now: float) -> None:
        rate = 1.0 + fault.drift
        self._node(fault).clock = lambda t: now + fault.offset_s + (t - now) * rate

    def set_clock(self, fault: ClockSkew, now: float) -> None:
        self._node(fault).clock = None

    def disconnect(self, fault: Disconnect, now: float) -> None:
        self._network.end_after(fault.switch, fault.after_bytes, fault.by == "switch", now)

    def let_connect(self, fault: Disconnect, now: float) -> None:
        self._node(fault).cuts_after = [None, None]


_KNOBS: dict[type[Any], tuple[Callable[..., None], Callable[..., None] | None]] = {
    LinkDown: (_Installed.cut, _Installed.mend),
    Flapping: (_Installed.flap, _Installed.mend),
    SilentLoss: (_Installed.lose, _Installed.lose_no_more),
    Latency: (_Installed.lengthen, _Installed.shorten),
    PowerLoss: (_Installed.power_off, _Installed.power_on),
    StalledReader: (_Installed.stall, _Installed.read),
    DelayedReplies: (_Installed.delay, _Installed.delay_no_more),
    LostReplies: (_Installed.lose_replies, _Installed.lose_no_replies),
    TableFull: (_Installed.fill, _Installed.make_room),
    WrongCounters: (_Installed.miscount, _Installed.count),
    ClockSkew: (_Installed.skew, _Installed.set_clock),
    Disconnect: (_Installed.disconnect, _Installed.let_connect),
}

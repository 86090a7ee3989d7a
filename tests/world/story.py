"""A random history of a small network, and what must be true all along."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import permutations

from controller.dataplane.walk import Fate, Outcome, Walker
from controller.engine.pinned import Ways
from controller.fabric.model import Fabric, Nic
from controller.intents.model import (
    Connectivity,
    IntentSpec,
    OnShortage,
    PointToPoint,
    Protection,
    Selector,
)
from controller.openflow.model import Field
from controller.optimizer.plan import Pin, PlacedFlow
from tests.dataplane.fabrics import packet
from tests.world.probes import Probe
from tests.world.tables import told
from tests.world.world import CONVERGE_S, SETTLED_S, World

CHAPTERS = 4
"""Times that the world comes to rest."""
FAULTS = 16
PROBES = 24
COMPARED_SHARE = 0.0003
"""How often what the probes say is compared with walks from scratch, besides whenever at rest."""
STEPS, SECONDS = 300, 40.0
"""At most so much passes between two things that happen."""
STALLED_S = 25.0
QUEUE_PAIR = 49152

Pair = tuple[Nic, Nic]


class Story:
    """``promised``: pairs that had a way when the world last was at rest, and that some intent has
    joined ever since. They keep it through every update, and through any one failure that leaves a
    way. Whatever else has failed, packets of ``arriving`` keep arriving while the controller acts
    on what is so."""

    def __init__(self, network: Fabric, seed: int) -> None:
        self.world = World(network, seed, metrics=seed % 3 == 0)
        self.hardware = self.world.hardware
        self.network = network
        self.random = self.world.random
        self.pairs: list[Pair] = list(permutations(network.nics, 2))
        self.intents: dict[str, IntentSpec] = {}
        self.promised: set[Pair] = set()
        self.failed: set[str] = set()
        self.meddled: dict[str, float] = {}
        self.dangling = False
        self.arriving: set[Probe] = set()
        self.history: list[str] = []
        # What there was to check: an invariant about nothing would hold as well.
        self.promises = self.pins_walked = 0
        self._follow()

    def tell(self) -> None:
        """AssertionError, with what happened, when something was not true."""
        try:
            for _ in range(CHAPTERS):
                self._chapter()
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.history)) from error

    def _chapter(self) -> None:
        self._want(self._random_intents())
        for _ in range(self.random.randrange(FAULTS)):
            self._let_pass()
            self._something_happens()
        self._let_pass()
        for switch in sorted(self.hardware.off):
            if self.random.random() < 0.7:
                self._power(switch)
        for switch in self.hardware.switches:
            self.hardware.fill(switch, False)
        self._rest()
        self._cosmetic_change()

    # ---- what happens ----

    def _something_happens(self) -> None:
        switch = self.random.choice(sorted(self.network.switch_by_name))
        # What asks for new plans is rarer: those take as long as thousands of events.
        planned = (self._link, self._flapping, self._power, self._other_intents)
        lost = (self._disconnect, self._lost_answer, self._stall, self._full)
        other = (self._meddling, self._crash)
        happen = self.random.choice((*planned, *lost, *lost, *other, *other))
        happen(switch)

    def _link(self, _: str) -> None:
        link = self.random.choice(self.network.links).name
        up = link in self.hardware.cut
        self._note(f"{link} {'up' if up else 'down'}")
        if not up:
            self.failed.add(link)
        self.hardware.set_link(link, up)

    def _flapping(self, _: str) -> None:
        link = self.random.choice(self.network.links).name
        self._note(f"{link} flaps")
        self.failed.add(link)
        for _ in range(2 * self.random.randint(1, 4)):
            self.hardware.set_link(link, link in self.hardware.cut)
            self._run(self.random.randrange(40))

    def _power(self, switch: str) -> None:
        # With its tables gone, it drops what comes to it once its links are up again.
        self.failed |= {switch, f"{switch}'s tables"}
        if switch in self.hardware.off:
            self._note(f"{switch} on")
            self.hardware.power_on(switch)
            return
        self._note(f"{switch} off")
        self.hardware.power_off(switch)

    def _disconnect(self, switch: str) -> None:
        self._note(f"{switch} disconnected")
        self.hardware.disconnect(switch)

    def _lost_answer(self, switch: str) -> None:
        self._note(f"{switch} loses an answer")
        self.hardware.lose_reply(switch)

    def _stall(self, switch: str) -> None:
        seconds = STALLED_S * self.random.random()
        name = self.random.choice(["proof", "fast", "store", "down", switch])
        self._note(f"{name} stalls for {seconds:.1f} s")
        if name == switch:
            self.hardware.stall(switch, seconds)
        else:
            self.world.queues[name].hold(seconds / 5)

    def _full(self, switch: str) -> None:
        self._note(f"{switch} is full")
        # It may refuse what a failure elsewhere asks for.
        self.failed.add(switch)
        self.hardware.fill(switch, True)

    def _meddling(self, switch: str) -> None:
        if switch in self.hardware.off:
            return
        self._note(f"another hand at {switch}")
        self.failed |= {switch, f"{switch}'s tables"}
        self.meddled[switch] = self.world.now
        self.dangling = True
        self.hardware.meddle(switch, self.random.random())

    def _crash(self, _: str) -> None:
        self._note("brain crashes")
        self.world.crash_brain()

    def _other_intents(self, _: str) -> None:
        self._want(self._random_intents())

    def _random_intents(self) -> dict[str, IntentSpec]:
        hosts = sorted(self.network.host_by_name)
        intents: dict[str, IntentSpec] = {
            name: Connectivity(_some(self.random.sample(hosts, self.random.randint(2, len(hosts)))))
            for name in ("a", "b")[: self.random.randint(1, 2)]
        }
        for name in ("p", "q")[: self.random.randint(0, 2)]:
            source, *destinations = self.random.sample(hosts, self.random.randint(2, 3))
            intents[name] = PointToPoint(
                _some([source]),
                _some(destinations),
                rate_bps=self.random.choice((0.0, 3e8, 9e8)),
                traffic_class=self.random.choice(("", "roce")),
                protection=self.random.choice(tuple(Protection)),
                bidirectional=self.random.random() < 0.5,
                udp_source_ports=self.random.choice(((), (QUEUE_PAIR,))),
                on_shortage=self.random.choice(tuple(OnShortage)),
            )
        return intents

    def _want(self, intents: dict[str, IntentSpec]) -> None:
        said = (f"{name}: {_in_words(spec)}" for name, spec in intents.items())
        self._note(f"intents {'; '.join(said)}")
        self.intents = intents
        self.world.want(intents)
        self.promised &= set(self._joined())

    def _note(self, text: str) -> None:
        self.history.append(f"{self.world.now:8.2f} s {self.world.events:6d}: {text}")

    # ---- time ----

    def _let_pass(self) -> None:
        if self.random.random() < 0.5:
            self._run(self.random.randrange(STEPS))
        else:
            until = self.world.now + SECONDS * self.random.random()
            while self.world.now < until:
                self._step()

    def _run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    def _step(self) -> None:
        # What has happened to hardware since the last step, and what the controller then does.
        for probe in self.hardware.probes.changed():
            self._judge(probe)
        self.world.step()
        for probe in self.hardware.probes.changed():
            was_arriving = probe in self.arriving
            self._judge(probe)
            knows = self._is_read() and self.world.acts_on_what_is()
            if was_arriving and not probe.arrives and knows:
                pair = probe.source, probe.target
                assert pair not in set(self._joined()), f"black hole in an update: {probe}"
        # The walk from scratch knows nothing of groups that lead to none.
        if self.random.random() < COMPARED_SHARE and not self.dangling:
            self._compare()

    def _settle(self) -> None:
        """Until nothing has happened for a while; AssertionError when that never comes."""
        world = self.world
        deadline = world.now + CONVERGE_S
        rest, batches = world.now, world.batches
        while True:
            if world.scheduler.idle:
                if not (world.is_settled() and self._is_read()) or batches != world.batches:
                    rest, batches = world.now, world.batches
                elif world.now >= rest + SETTLED_S:
                    return
                assert world.now < deadline, f"no rest: {world.engine.problems()}, {world.statuses}"
            self._step()

    def _is_read(self) -> bool:
        """Nobody can know of what another hand did before looking."""
        for switch, since in list(self.meddled.items()):
            if switch in self.hardware.off or self.world.read_s[switch] > since:
                del self.meddled[switch]
        return not self.meddled

    # ---- what is true ----

    def _follow(self) -> None:
        """Probes of other packets from here on."""
        chosen = self.random.sample(self.pairs, min(PROBES, len(self.pairs)))
        self.hardware.probes.follow(Probe(a, b, self._packet(a, b)) for a, b in chosen)
        self.arriving = {probe for probe in self.hardware.probes if probe.arrives}

    def _packet(self, source: Nic, target: Nic) -> dict[Field, int]:
        return packet(source, target, self.random.choice((4, 6)), self.random.choice((0, 26)))

    def _judge(self, probe: Probe) -> None:
        assert not probe.loops, f"loop: {probe}"
        assert not probe.strays, f"where it must not: {probe}"
        pair = probe.source, probe.target
        if pair in self.promised and len(self.failed) <= 1:
            assert probe.arrives or not self._path(*pair), f"black hole: {probe}"
        (self.arriving.add if probe.arrives else self.arriving.discard)(probe)

    def _walker(self) -> Walker:
        return Walker(self.network, self.hardware.holds, self.hardware.dead)

    def _compare(self) -> None:
        walker = self._walker()
        for probe in self.hardware.probes:
            found = frozenset(
                (o.fate, o.at)
                if _arrived(o, probe.target)
                else (o.fate if o.fate is not Fate.ARRIVED else Fate.DROPPED, None)
                for o in walker.walk(probe.source.attachments[0], probe.packet)
            )
            assert probe.ends == found, f"{probe} says the probe, {found} the walk from scratch"

    def _rest(self) -> None:
        self._settle()
        self._note("at rest")
        world, hardware = self.world, self.hardware
        desired = world.desired()
        holds = hardware.holds
        on = [name for name in self.network.switch_by_name if name not in hardware.off]
        for name in on:
            assert holds[name] == desired[name], f"{name} differs from its compile"
        name = self.random.choice(on)
        tables = told(name, hardware.switches[name], world.now)
        assert tables == desired[name], f"{name} tells other tables than it holds"
        plan = world.engine.plan
        refused = plan.refused if plan is not None else frozenset()
        sure, joined = set(self._joined()), set(self._joined_by(self.intents.keys() - refused))
        walker = self._walker()
        self.promised.clear()
        for pair in self.pairs:
            source, target = pair
            outcomes = walker.walk(source.attachments[0], self._packet(source, target))
            arrived = [_arrived(outcome, target) for outcome in outcomes]
            looped = any(outcome.fate is Fate.LOOPED for outcome in outcomes)
            assert not looped, f"loop from {source.id} to {target.id}"
            if pair not in joined:
                assert not any(arrived), f"{source.id} reaches {target.id}"
            elif self._path(source, target):
                assert all(arrived), f"black hole from {source.id} to {target.id}: {outcomes}"
                self.promised.update({pair} & sure)
        self.promises += len(self.promised)
        for flow, pin in plan.pins.items() if plan is not None else ():
            self._pinned(walker, flow, pin)
        self.failed = {"something"} if hardware.cut or hardware.off else set()
        self.dangling = False
        self._compare()
        self._follow()

    def _pinned(self, walker: Walker, flow: PlacedFlow, pin: Pin) -> None:
        """What has a path of its own takes it."""
        plan, of = self.world.engine.plan, self.network.nic_by_id
        assert plan is not None
        way = Ways(plan, self.network).of(flow.ingress, pin.egress, pin.primary)
        if way is None or flow.ingress in self.hardware.off:
            return
        entry = next(p for p in of[flow.source].attachments if p.switch == flow.ingress)
        packet = self._packet(of[flow.source], of[flow.destination])
        packet[Field.UDP_SRC] = flow.udp_source_port or QUEUE_PAIR - 1
        arcs = [self.network.arcs[arc] for arc in way]
        path = (flow.ingress, *(arc.head.switch for arc in arcs))
        for outcome in walker.walk(entry, packet):
            assert outcome.path == path, f"{flow} takes {outcome.path}, not {path}"
        self.pins_walked += 1

    def _cosmetic_change(self) -> None:
        """The same intents anew, in another order: another generation, nothing for any switch."""
        before = self.world.batches
        self.world.want(
            {name: _turned_round(spec) for name, spec in reversed(self.intents.items())}
        )
        self._settle()
        assert self.world.batches == before, "a cosmetic change was sent to switches"

    def _joined(self) -> Iterator[Pair]:
        """Pairs that may talk whatever the plan."""
        sure = {
            name
            for name, spec in self.intents.items()
            if isinstance(spec, Connectivity) or spec.on_shortage is OnShortage.DEGRADE
        }
        return self._joined_by(sure)

    def _joined_by(self, names: Collection[str]) -> Iterator[Pair]:
        sides = [
            side
            for name, intent in self.world.wanted.items()
            if name in names
            for side in intent.reach.sides
        ]
        for a, b in self.pairs:
            if any(a.id in side.nics and b.id in side.peers for side in sides):
                yield a, b

    def _path(self, source: Nic, target: Nic) -> bool:
        off = self.hardware.off
        at = [p.switch for p in source.attachments[:1] if p.switch not in off]
        ends = {p.switch for p in target.attachments} - off
        seen = set(at)
        while at:
            for arc in self.network.arcs_from[at.pop()]:
                there = arc.head.switch
                if arc.link not in self.hardware.cut and there not in off | seen:
                    seen.add(there)
                    at.append(there)
        return bool(seen & ends)


def _arrived(outcome: Outcome, target: Nic) -> bool:
    return (
        outcome.fate is Fate.ARRIVED
        and outcome.at in target.attachments
        and dict(outcome.headers)[Field.ETH_DST] == target.mac
    )


def _some(hosts: Iterable[str]) -> Selector:
    return Selector(hosts=tuple(sorted(hosts)))


def _turned_round(spec: IntentSpec) -> IntentSpec:
    """The same with its hosts in another order."""
    if isinstance(spec, Connectivity):
        return Connectivity(Selector(hosts=spec.endpoints.hosts[::-1]))
    return replace(spec, destination=Selector(hosts=spec.destination.hosts[::-1]))


def _in_words(spec: IntentSpec) -> str:
    if isinstance(spec, Connectivity):
        return ",".join(spec.endpoints.hosts)
    return (
        f"{','.join(spec.source.hosts)}>{','.join(spec.destination.hosts)} {spec.rate_bps:g} "
        f"{spec.protection.value} {spec.on_shortage.value} {spec.udp_source_ports}"
    )

"""A random history of a small network, and what must be true all along."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from controller.dataplane.walk import Fate, Outcome
from controller.fabric.model import Fabric, Nic
from controller.openflow.model import Field
from tests.dataplane.fabrics import packet
from tests.world.world import World

CHAPTERS = 4
"""Times that the world comes to rest."""
FAULTS = 4
PROBE_SHARE = 0.03

Pair = tuple[Nic, Nic]


class Story:
    """``promised``: pairs that had a way when the world last was at rest, and that some intent has
    joined ever since. They keep it through every update, and through any one failure."""

    def __init__(self, network: Fabric, seed: int) -> None:
        self.world = World(network, seed)
        self.network = network
        self.random = self.world.random
        self.promised: set[Pair] = set()
        self.failures = 0
        self.history: list[str] = []

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
            self._run(self.random.randrange(300))
            self._something_happens()
        self._run(self.random.randrange(300))
        for switch in sorted(self.world.off):
            if self.random.random() < 0.7:
                self._note(f"{switch} is on again")
                self.world.power_on(switch)
        self._rest()
        self._cosmetic_change()

    # ---- what happens ----

    def _something_happens(self) -> None:
        world, random = self.world, self.random
        switch = random.choice(sorted(self.network.switch_by_name))
        what = random.randrange(7)
        if what == 0:
            link = random.choice(self.network.links).name
            up = link in world.cut
            self._note(f"{link} {'up' if up else 'down'}")
            self.failures += not up
            world.set_link(link, up)
        elif what == 1 and switch not in world.off:
            self._note(f"{switch} off")
            # With its tables gone, it drops what comes to it once its links are up again.
            self.failures += 2
            world.power_off(switch)
        elif what == 2 and switch in world.off:
            self._note(f"{switch} on")
            world.power_on(switch)
        elif what == 3:
            self._note(f"{switch} disconnected")
            world.disconnect(switch)
        elif what == 4:
            self._note(f"{switch} loses an answer")
            world.lose_reply(switch)
        elif what == 5:
            self._note("brain crashes")
            world.crash_brain()
        else:
            self._want(self._random_intents())

    def _random_intents(self) -> dict[str, list[str]]:
        hosts = sorted(self.network.host_by_name)
        return {
            name: sorted(self.random.sample(hosts, self.random.randint(2, len(hosts))))
            for name in ("a", "b")[: self.random.randint(1, 2)]
        }

    def _want(self, intents: dict[str, list[str]]) -> None:
        self._note(f"intents {intents}")
        self.world.want(intents)
        self.promised &= set(self._joined())

    def _run(self, steps: int) -> None:
        for _ in range(steps):
            self.world.step()
            if self.random.random() < PROBE_SHARE:
                self._probe()

    def _note(self, text: str) -> None:
        self.history.append(f"{self.world.now:8.2f} s {self.world.events:6d}: {text}")

    # ---- what is true ----

    def _probe(self) -> None:
        pairs = list(permutations(self.network.nics, 2))
        walker = self.world.walker()
        for source, target in self.random.sample(pairs, min(3, len(pairs))):
            for outcome in self._outcomes(walker, source, target):
                where = f"{source.id} to {target.id}: {outcome}"
                assert outcome.fate not in (Fate.LOOPED, Fate.COPIED), where
                if (source, target) in self.promised and self.failures <= 1:
                    assert _arrived(outcome, target), f"black hole: {where}"

    def _rest(self) -> None:
        world = self.world
        world.settle()
        self._note("at rest")
        desired = world.desired()
        for name in self.network.switch_by_name:
            if name not in world.off:
                assert world.read(name) == desired[name], f"{name} differs from its compile"
        joined = set(self._joined())
        walker = world.walker()
        self.promised.clear()
        for pair in permutations(self.network.nics, 2):
            source, target = pair
            outcomes = list(self._outcomes(walker, source, target))
            arrived = [_arrived(outcome, target) for outcome in outcomes]
            looped = any(outcome.fate is Fate.LOOPED for outcome in outcomes)
            assert not looped, f"loop from {source.id} to {target.id}"
            if pair not in joined:
                assert not any(arrived), f"{source.id} reaches {target.id}"
            elif self._path(source, target):
                assert all(arrived), f"black hole from {source.id} to {target.id}: {outcomes}"
                self.promised.add(pair)
        self.failures = 0 if not world.cut and not world.off else 1

    def _cosmetic_change(self) -> None:
        """The same intents anew: another generation, nothing for any switch."""
        before = self.world.batches
        hosts = {
            name: sorted({nic.partition("/")[0] for nic in intent.nics})
            for name, intent in self.world.wanted.items()
        }
        self.world.want(hosts)
        self.world.settle()
        assert self.world.batches == before, "a cosmetic change was sent to switches"

    def _joined(self) -> Iterator[Pair]:
        for pair in permutations(self.network.nics, 2):
            if any({n.id for n in pair} <= i.nics for i in self.world.wanted.values()):
                yield pair

    def _path(self, source: Nic, target: Nic) -> bool:
        world = self.world
        at = [p.switch for p in source.attachments[:1] if p.switch not in world.off]
        ends = {p.switch for p in target.attachments} - world.off
        seen = set(at)
        while at:
            for arc in self.network.arcs_from[at.pop()]:
                there = arc.head.switch
                if arc.link not in world.cut and there not in world.off | seen:
                    seen.add(there)
                    at.append(there)
        return bool(seen & ends)

    def _outcomes(self, walker: object, source: Nic, target: Nic) -> Iterator[Outcome]:
        version = self.random.choice((4, 6))
        dscp = self.random.choice((0, 26))
        yield from walker.walk(  # type: ignore[attr-defined]
            source.attachments[0], packet(source, target, version, dscp)
        )


def _arrived(outcome: Outcome, target: Nic) -> bool:
    return (
        outcome.fate is Fate.ARRIVED
        and outcome.at in target.attachments
        and dict(outcome.headers)[Field.ETH_DST] == target.mac
    )

"""Is the fabric cabled as its file says: probes out, what was heard in, and what to tell people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from controller.discovery.evidence import Evidence, Verdict, Wired
from controller.discovery.pacing import Pacer, round_s
from controller.discovery.probe import Rejection, Seal
from controller.discovery.swaps import Cable, Swap, suspected_swaps
from controller.engine.commands import Log, OutgoingProbe
from controller.engine.editing import Edit
from controller.fabric.model import Fabric, Link, PortRef

_SAID_AT_ONCE = 10
"""Lines of log for one cause; the whole fabric may be wrong."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """Frames that proved nothing, by where they came in: a port of the topology, or a switch where
    it was another port."""

    where: str
    why: Rejection
    frames: int


@dataclass(frozen=True, slots=True)
class WiringReport:
    """``unexpected``: cables that were seen where at least one end has no link in the topology.
    ``shed``: frames that session processes have not passed on, because there were too many. Each of
    the ``probed`` ports has its turn in ``round_s``."""

    links: tuple[tuple[Link, Verdict], ...]
    unexpected: tuple[Cable, ...]
    swaps: tuple[Swap, ...]
    ignored: tuple[Ignored, ...]
    shed: int
    probed: int
    round_s: float


class WiringWatch:
    """Probes the ports of all links, and judges by what arrives where."""

    def __init__(self, fabric: Fabric, seal: Seal) -> None:
        self._fabric = fabric
        self._seal = seal
        self._evidence = Evidence(fabric)
        self._pacer: Pacer[PortRef] = Pacer()
        self._peer = {arc.tail: arc.head for arc in fabric.arcs}
        self._known = self._peer.keys() | {p for nic in fabric.nics for p in nic.attachments}
        self._sessions: dict[str, int] = {}
        self._ignored: Counter[tuple[str, Rejection]] = Counter()
        self._shed = 0
        self._alarmed: dict[str, Wired] = {}
        self._strays: Set[Cable] = frozenset()
        self._swaps: tuple[Swap, ...] = ()
        self._unexpected: tuple[Cable, ...] = ()

    def edited(self, edit: Edit, is_live: Callable[[PortRef], bool]) -> WiringWatch:
        """The same for an edited fabric: what probes have shown of links that stay still holds, and
        is not said again."""
        new = WiringWatch(edit.after, self._seal)
        new._evidence = self._evidence.edited(edit.after, edit.port, is_live)
        new._sessions = edit.of_switches(self._sessions)
        turns = [edit.port(ref) for ref in self._pacer]
        connected = new._evidence.connected_switches
        for ref in (*turns, *new._peer):
            if ref in new._peer and ref.switch in connected and is_live(ref):
                new._pacer.add(ref)
        new._ignored, new._shed = self._ignored, self._shed
        names = edit.kept_links
        new._alarmed = {names[link]: w for link, w in self._alarmed.items() if link in names}
        new._strays = new._evidence.strays
        new._swaps, new._unexpected = new._suspicions()
        return new

    @property
    def barred(self) -> frozenset[str]:
        """Links that must carry nothing."""
        return self._evidence.barred

    # ---- what happens ---------------------------------------------------------------------------

    def connected(self, switch: str, session: int, ports: Mapping[int, bool]) -> None:
        self._sessions[switch] = session
        live = {port for port, is_live in ports.items() if is_live}
        self._evidence.connected(switch, live)
        for arc in self._fabric.arcs_from[switch]:
            (self._pacer.add if arc.tail.port in live else self._pacer.remove)(arc.tail)

    def disconnected(self, switch: str) -> None:
        self._evidence.disconnected(switch)
        for arc in self._fabric.arcs_from[switch]:
            self._pacer.remove(arc.tail)

    def port_changed(self, ref: PortRef, live: bool) -> None:
        self._evidence.port_changed(ref, live)
        if ref in self._peer:
            (self._pacer.add if live else self._pacer.remove)(ref)

    def due(self, listening: Set[str], now: float) -> tuple[OutgoingProbe, ...]:
        """The probes whose turn has come. ``listening``: switches that hand up what they hear."""
        out = []
        for ref in self._pacer.due(now):
            nonce = self._evidence.send(ref, listening, now)
            frame = self._seal.probe(self._fabric.switch_by_name[ref.switch].dpid, ref.port, nonce)
            out.append(OutgoingProbe(ref.switch, self._sessions[ref.switch], ref.port, frame))
        return tuple(out)

    def heard(self, frames: Iterable[tuple[PortRef, bytes]], shed: int, now: float) -> list[Log]:
        """What came in by which ports; says what is the first of its kind."""
        self._shed += shed
        out = []
        for at, frame in frames:
            opened = self._seal.open(frame)
            why = (
                opened
                if isinstance(opened, Rejection)
                else self._evidence.heard(opened.nonce, at, now)
            )
            if why is None:
                continue
            where = str(at) if at in self._known else at.switch
            self._ignored[where, why] += 1
            if why in _SUSPICIOUS and self._ignored[where, why] == 1:
                text = f"{where}: {why.value} probe ignored; `heald wiring` counts those to come"
                out.append(Log("warning", text))
        return out[:_SAID_AT_ONCE]

    # ---- what people are told -------------------------------------------------------------------

    def news(self) -> list[Log]:
        """What has changed since it was last asked, each thing once."""
        if not self._evidence.changed and self._strays == self._evidence.strays:
            return []
        out = [*self._link_news(), *self._cable_news()]
        left = len(out) - _SAID_AT_ONCE
        if left > 1:
            more = f"and {left} more changes of the wiring; `heald wiring` has all"
            out = [*out[:_SAID_AT_ONCE], Log("warning", more)]
        return out

    def _link_news(self) -> Iterator[Log]:
        changed, self._evidence.changed = self._evidence.changed, set()
        for name in sorted(changed):
            verdict = self._evidence.verdicts[name]
            before = self._alarmed.get(name)
            if verdict.alarming and before is not verdict.wired:
                self._alarmed[name] = verdict.wired
                yield Log("warning", _problem(name, verdict))
            elif verdict.wired is Wired.OK and before is not None:
                del self._alarmed[name]
                yield Log("info", f"link {name} is wired as declared again")

    def _cable_news(self) -> Iterator[Log]:
        strays = self._evidence.strays
        if strays == self._strays:
            return
        self._strays = strays
        swaps, unexpected = self._swaps, self._unexpected
        self._swaps, self._unexpected = self._suspicions()
        for swap in self._swaps:
            if swap not in swaps:
                yield Log("warning", str(swap))
        for cable in self._unexpected:
            if cable not in unexpected:
                yield Log("warning", _unexpected(cable))

    def _suspicions(self) -> tuple[tuple[Swap, ...], tuple[Cable, ...]]:
        strays = self._strays
        return (
            tuple(suspected_swaps(strays, self._peer, self._evidence.is_live)),
            tuple(sorted(c for c in strays if not self._peer.keys() >= {c.a, c.b})),
        )

    def problems(self) -> list[str]:
        """Swaps first, for they are what to mend."""
        out = [str(swap) for swap in self._swaps]
        for link in self._fabric.links:
            verdict = self._evidence.verdicts[link.name]
            if verdict.alarming:
                out.append(_problem(link.name, verdict))
            elif verdict.barred:
                out.append(f"link {link.name} was miswired and is not proven since: not in use")
        return [*out, *map(_unexpected, self._unexpected)]

    def report(self) -> WiringReport:
        verdicts = self._evidence.verdicts
        return WiringReport(
            tuple((link, verdicts[link.name]) for link in self._fabric.links),
            self._unexpected,
            self._swaps,
            tuple(
                Ignored(where, why, frames)
                for (where, why), frames in sorted(
                    self._ignored.items(), key=lambda item: (item[0][0], item[0][1].value)
                )
            ),
            self._shed,
            len(self._pacer),
            round_s(len(self._pacer)),
        )


_SUSPICIOUS = (Rejection.MALFORMED, Rejection.FORGED, Rejection.REPLAYED)


def _problem(name: str, verdict: Verdict) -> str:
    use = "; not in use" if verdict.barred else ""
    return f"link {name} is {verdict.wired.value}: {verdict.detail}{use}"


def _unexpected(cable: Cable) -> str:
    return f"a cable that the topology does not have: {cable.a} is joined to {cable.b}"

"""What probes have shown of the cables, and what follows for each declared link.

Port status comes first: a link whose ports are up is used until probes show that it leads
elsewhere. That probes are missing is said, and takes no link out of use: it proves nothing of where
the cable leads, and a controller that cannot keep up would cut the fabric to pieces. A link that
was seen to lead elsewhere stays out of use until both of its ends are proven.

What a port's probes have shown ends when one of the two ports goes down or comes up, when one of
the switches connects anew, and when LOST_PROBES later ones did not come the same way, or fewer have
come another way. Only probes count that can be heard: a port at whose declared far end nobody
listens loses none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count

from controller.discovery.probe import LIFE_S, Rejection
from controller.discovery.swaps import Cable
from controller.fabric.model import Fabric, Link, PortRef

LOST_PROBES = 4
"""One may be on its way, and others may be lost as packets are; so many in a row are a sign."""
SUPERSEDED = 2
"""A cable leads no longer to where a port's probes came, when so many later ones came elsewhere. A
single one does not show that: something in between may bring them now here, now there."""


class Wired(Enum):
    """UNPROVEN: not yet known. MISSING: a port is down, or both are up and nothing arrives."""

    OK = "ok"
    UNPROVEN = "unproven"
    MISSING = "missing"
    ONE_WAY = "one-way"
    MISWIRED = "miswired"


@dataclass(frozen=True, slots=True)
class Verdict:
    """On a declared link. ``detail`` is for people, empty where it is OK; ``alarming`` where it is
    something to look at that port status does not tell. ``cables`` were seen at its ends instead.
    ``barred``: it carries nothing, for it was miswired and is not proven since."""

    wired: Wired
    detail: str = ""
    alarming: bool = False
    cables: tuple[Cable, ...] = ()
    barred: bool = False


@dataclass(slots=True, eq=False)
class _Port:
    """A port with a declared link. ``sent`` counts its probes that could be heard, ``heard`` has
    for each port where some arrived the count of the newest; both begin anew with each ``era``."""

    ref: PortRef
    peer: PortRef
    link: Link
    live: bool = False
    era: int = 0
    sent: int = 0
    heard: dict[PortRef, int] = field(default_factory=dict)

    def forget(self) -> None:
        self.era += 1
        self.sent = 0
        self.heard.clear()

    def has_reached(self, ref: PortRef) -> bool:
        at = self.heard.get(ref)
        if at is None or self.sent - at >= LOST_PROBES:
            return False
        return max(self.heard.values()) - at < SUPERSEDED

    def has_lost(self) -> bool:
        """Its declared far end should have heard it by now."""
        return self.sent - self.heard.get(self.peer, 0) >= LOST_PROBES


@dataclass(frozen=True, slots=True)
class _Outstanding:
    port: _Port
    era: int
    at: int
    sent_s: float


class Evidence:
    """``verdicts`` are those of all declared links by name; ``barred`` names the ones that must
    carry nothing; ``changed`` collects links with a new verdict until somebody empties it."""

    def __init__(self, fabric: Fabric) -> None:
        self._ports = {
            arc.tail: _Port(arc.tail, arc.head, fabric.links[arc.index // 2]) for arc in fabric.arcs
        }
        self._of_switch: dict[str, list[_Port]] = {s.name: [] for s in fabric.switches}
        for ref in sorted(self._ports):
            self._of_switch[ref.switch].append(self._ports[ref])
        self._connected: set[str] = set()
        self._nonces = count(1)
        self._outstanding: OrderedDict[int, _Outstanding] = OrderedDict()
        self._expired = 0
        # Sender and receiver of what arrived where it should not, by each of them.
        self._strays: dict[PortRef, set[tuple[_Port, PortRef]]] = {}
        self.verdicts: dict[str, Verdict] = {}
        self.barred: frozenset[str] = frozenset()
        self.changed: set[str] = set()
        for link in fabric.links:
            self._judge(link)
        self.changed.clear()

    def edited(
        self,
        fabric: Fabric,
        kept: Callable[[PortRef], PortRef | None],
        is_live: Callable[[PortRef], bool],
    ) -> Evidence:
        """The same for an edited fabric: what was shown of links that stay still holds. ``kept`` is
        what a port is called now, None where its switch has gone; ``is_live`` is of new names."""
        new = Evidence(fabric)
        new._connected = {
            ref.switch
            for switch in self._connected
            if (ref := kept(PortRef(switch, 0))) is not None
        }
        known = {(kept(port.ref), kept(port.peer)): port for port in self._ports.values()}
        same: dict[_Port, _Port] = {}
        for port in new._ports.values():
            port.live = is_live(port.ref)
            old = known.get((port.ref, port.peer))
            if old is not None:
                same[old] = port
                port.era, port.sent = old.era, old.sent
                heard = ((kept(at), count) for at, count in old.heard.items())
                port.heard = {at: count for at, count in heard if at is not None}
                if old.link.name in self.barred:
                    new.barred |= {port.link.name}
        new._nonces, new._expired = self._nonces, self._expired
        for nonce, probe in self._outstanding.items():
            if probe.port not in same:
                probe.port.era += 1  # It proves nothing when it comes, but is no forgery.
            port = same.get(probe.port, probe.port)
            new._outstanding[nonce] = replace(probe, port=port)
        for sender, ref in set().union(*self._strays.values()):
            at = kept(ref)
            if sender in same and at is not None:
                for end in {same[sender].ref, at}:
                    new._strays.setdefault(end, set()).add((same[sender], at))
        for link in fabric.links:
            new._judge(link)
        new.changed = {link.name for link in fabric.links}
        return new

    @property
    def connected_switches(self) -> Set[str]:
        return self._connected

    def is_live(self, ref: PortRef) -> bool:
        found = self._ports.get(ref)
        return found is not None and found.live

    @property
    def strays(self) -> Set[Cable]:
        """Cables that were seen and are not declared."""
        return {
            Cable.between(sender.ref, at) for pairs in self._strays.values() for sender, at in pairs
        }

    # ---- ports and switches ---------------------------------------------------------------------

    def connected(self, switch: str, live: Set[int]) -> None:
        """A session with the switch has begun; these of its ports are up."""
        self._connected.add(switch)
        for port in self._of_switch[switch]:
            port.live = port.ref.port in live
            self._begin_anew(port.ref)

    def disconnected(self, switch: str) -> None:
        """It neither sends nor hears any more; its cables stay where they are."""
        self._connected.discard(switch)
        for port in self._of_switch[switch]:
            self._judge(port.link)

    def port_changed(self, ref: PortRef, live: bool) -> None:
        """Of any port: also one without a declared link may have heard probes."""
        port = self._ports.get(ref)
        if port is not None:
            if port.live == live:
                return
            port.live = live
        self._begin_anew(ref)

    def _begin_anew(self, ref: PortRef) -> None:
        """Whatever cable is in this port may be another one now."""
        strays = list(self._strays.get(ref, ()))
        for sender, at in strays:
            self._drop(sender, at)
        port = self._ports.get(ref)
        if port is not None:
            port.forget()
            self._ports[port.peer].forget()
            self._judge(port.link)

    # ---- probes ---------------------------------------------------------------------------------

    def send(self, ref: PortRef, listening: Set[str], now: float) -> int:
        """A port's next probe is about to be sent: the nonce for it. ``listening``: switches that
        hand probes up."""
        self._expire(now)
        port = self._ports[ref]
        if port.peer.switch in listening:
            port.sent += 1
        nonce = next(self._nonces)
        self._outstanding[nonce] = _Outstanding(port, port.era, port.sent, now)
        if self._strays:
            self._drop_old_strays(ref)
        if port.has_lost():
            self._judge(port.link)
        return nonce

    def heard(self, nonce: int, at: PortRef, now: float) -> Rejection | None:
        """An authentic probe came in by a port: None, or why it proves nothing."""
        self._expire(now)
        known = self._outstanding.pop(nonce, None)
        if known is None:
            return Rejection.REPLAYED if nonce > self._expired else Rejection.LATE
        if known.era != known.port.era:
            return Rejection.LATE
        sender = known.port
        sender.heard[at] = max(known.at, sender.heard.get(at, 0))
        if at == sender.peer and not self._strays and self._is_ok(sender.link):
            return None  # Nearly every probe: it says what is known.
        if at != sender.peer:
            for ref in {sender.ref, at}:
                self._strays.setdefault(ref, set()).add((sender, at))
            self._judge_at(at)
        self._drop_old_strays(sender.ref)
        self._judge(sender.link)
        return None

    def _is_ok(self, link: Link) -> bool:
        return self.verdicts[link.name].wired is Wired.OK

    def _drop_old_strays(self, ref: PortRef) -> None:
        for sender, at in list(self._strays.get(ref, ())):
            if not sender.has_reached(at):
                self._drop(sender, at)

    def _expire(self, now: float) -> None:
        while self._outstanding:
            nonce = next(iter(self._outstanding))
            if now - self._outstanding[nonce].sent_s <= LIFE_S:
                return
            del self._outstanding[nonce]
            self._expired = nonce

    def _drop(self, sender: _Port, at: PortRef) -> None:
        sender.heard.pop(at, None)
        for ref in {sender.ref, at}:
            pairs = self._strays.get(ref, set())
            pairs.discard((sender, at))
            if not pairs:
                self._strays.pop(ref, None)
        self._judge(sender.link)
        self._judge_at(at)

    # ---- what follows ---------------------------------------------------------------------------

    def _judge_at(self, ref: PortRef) -> None:
        port = self._ports.get(ref)
        if port is not None:
            self._judge(port.link)

    def _judge(self, link: Link) -> None:
        a, b = self._ports[link.a], self._ports[link.b]
        verdict = self._compare(a, b)
        miswired = verdict.wired is Wired.MISWIRED
        barred = link.name in self.barred
        if miswired or (barred and verdict.wired is not Wired.OK):
            verdict = replace(verdict, barred=True)
        if verdict.barred != barred:
            self.barred ^= {link.name}
        if verdict != self.verdicts.get(link.name):
            self.verdicts[link.name] = verdict
            self.changed.add(link.name)

    def _strays_at(self, a: _Port, b: _Port) -> tuple[Cable, ...]:
        if not self._strays:
            return ()
        pairs = self._strays.get(a.ref, set()) | self._strays.get(b.ref, set())
        return tuple(sorted({Cable.between(sender.ref, at) for sender, at in pairs}))

    def _compare(self, a: _Port, b: _Port) -> Verdict:
        cables = self._strays_at(a, b)
        if cables:
            detail = "; ".join(_instead(cable, a, b) for cable in cables)
            return Verdict(Wired.MISWIRED, detail, alarming=True, cables=cables)
        down = [p.ref for p in (a, b) if p.ref.switch in self._connected and not p.live]
        if down:
            are = "are" if len(down) == 2 else "is"
            return Verdict(Wired.MISSING, f"{' and '.join(map(str, down))} {are} down")
        away = [p.ref.switch for p in (a, b) if p.ref.switch not in self._connected]
        if away:
            return Verdict(Wired.UNPROVEN, f"no session with {' and '.join(away)}")
        there, back = a.has_reached(b.ref), b.has_reached(a.ref)
        if there and back:
            return Verdict(Wired.OK)
        if a.has_lost() and b.has_lost():
            detail = "both ports are up, and no probe arrives"
            return Verdict(Wired.MISSING, detail, alarming=True)
        for one, other, returns in ((a, b, back), (b, a, there)):
            if one.has_lost() and returns:
                detail = f"probes of {one.ref} do not arrive at {other.ref}"
                return Verdict(Wired.ONE_WAY, detail, alarming=True)
        return Verdict(Wired.UNPROVEN, "no probe has arrived yet")


def _instead(cable: Cable, a: _Port, b: _Port) -> str:
    """``leaf1:11 is joined to spine2:1``, from the end that is the link's own."""
    near, far = cable.a, cable.b
    if near not in (a.ref, b.ref):
        near, far = far, near
    return f"{near} is joined to {far}" if near != far else f"{near} hears itself"

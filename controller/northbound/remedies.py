"""Why a flow of a point-to-point intent has less than it asks for, and what its owner can do."""

from __future__ import annotations

from collections.abc import Mapping

from controller.engine.shortages import words
from controller.fabric.model import Arc, Fabric
from controller.intents.demands import PinnedFlow
from controller.intents.model import Intent, PointToPoint, Protection
from controller.intents.words import rate, short_name
from controller.northbound.holdings import Holdings
from controller.optimizer.plan import Pin

_LINKS = 3
_INTENTS = 4
_LEAST_BPS = 1e3


class Remedies:
    def __init__(self, fabric: Fabric, holdings: Holdings, intents: Mapping[str, Intent]) -> None:
        """``intents`` are all there are, for the priorities of those that stand in the way."""
        self._holdings = holdings
        self._intents = intents
        self._arcs: dict[str, list[Arc]] = {}
        for arc in fabric.arcs:
            self._arcs.setdefault(arc.link, []).append(arc)

    def of(self, flow: PinnedFlow, pin: Pin) -> str:
        match pin.shortage:
            case "NOTHING":
                return ""
            case "NO_CAPACITY" if pin.binding:
                return self._full(flow, pin)
            case "UNREACHABLE":
                cure = "repair a link"
            case "CONSTRAINED":
                cure = "take a name out of include or avoid"
            case "TOO_SLOW":
                relax = ", or take names out of include and avoid"
                named = flow.include or flow.avoid
                cure = f"allow more latency{relax if named else ''}"
            case "NOT_DISJOINT":
                cure = "ask for less protection"
            case "NO_CAPACITY":
                cure = "ask for less"
            case _:
                return words(flow, pin)
        return f"{words(flow, pin)}; {cure}"

    def _full(self, flow: PinnedFlow, pin: Pin) -> str:
        links = sorted(set(pin.binding) & self._arcs.keys())
        if not links:
            return words(flow, pin)
        # The fullest ones first.
        arcs = sorted(map(self._tightest, links), key=self._holdings.left_bps)
        said = [self._filled(arc) for arc in arcs[:_LINKS]]
        if len(arcs) > _LINKS:
            said.append(f"{len(arcs) - _LINKS} more alike")
        return f"{'; '.join(said)}; {self._cure(flow, pin)}"

    def _filled(self, arc: Arc) -> str:
        held = sorted(self._holdings.on(arc.index).items(), key=lambda item: (-item[1], item[0]))
        if not held:
            return f"{arc.link} carries {rate(arc.capacity_bps)}"
        names = [f"{short_name(name)} ({rate(bps)})" for name, bps in held[:_INTENTS]]
        if len(held) > _INTENTS:
            names.append(f"{len(held) - _INTENTS} more")
        one = "intent" if len(held) == 1 else "intents"
        verb = "holds" if len(held) == 1 else "hold"
        total = rate(self._holdings.total_bps(arc.index))
        return f"{arc.link}: {one} {', '.join(names)} {verb} {total} of {rate(arc.capacity_bps)}"

    def _cure(self, flow: PinnedFlow, pin: Pin) -> str:
        cures = []
        # The widest path need not pass what it must, nor be in time.
        bound = bool(flow.include) or flow.max_latency_s is not None
        most = self._holdings.widest_bps(flow.id.ingress, flow.egress, flow.avoid)
        if flow.protection is not Protection.NONE:
            cures.append("ask for less, or for less protection")
        elif most >= _LEAST_BPS and not pin.rate_bps and not bound:
            cures.append(f"ask for at most {rate(most)} for this flow")
        priorities = [
            intent.spec.priority
            for name in pin.rivals
            if (intent := self._intents.get(name)) and isinstance(intent.spec, PointToPoint)
        ]
        if priorities and flow.priority <= min(priorities):
            cures.append(f"raise the priority above {min(priorities)}")
        return ", or ".join(cures or ["delete an intent, or add capacity"])

    def _tightest(self, link: str) -> Arc:
        """The direction of the link that has less left."""
        return min(self._arcs[link], key=self._holdings.left_bps)

"""What point-to-point intents lack, in codes and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.intents.demands import PinnedFlow
from controller.intents.lifecycle import Reason
from controller.intents.model import Protection
from controller.intents.words import rate, short_name, some, time
from controller.optimizer.plan import Pin, PlacedFlow, Plan

_FLOWS = 2
REASONS = {
    "UNREACHABLE": Reason.UNROUTABLE,
    "SHADOWED": Reason.CONSTRAINED,
    "CONSTRAINED": Reason.CONSTRAINED,
    "TOO_SLOW": Reason.TOO_SLOW,
    "NOT_DISJOINT": Reason.NOT_DISJOINT,
    "NO_CAPACITY": Reason.NO_CAPACITY,
}
_APART = {
    Protection.NONE: "",
    Protection.LINK: "share no link",
    Protection.NODE: "share no link and no switch between",
    Protection.SRLG: "share no link, switch between or risk group",
}


@dataclass(frozen=True, slots=True)
class Lack:
    """``refused``: nothing of the intent is installed."""

    refused: bool
    reason: Reason
    message: str


def lacks(plan: Plan, flows: tuple[PinnedFlow, ...]) -> Mapping[str, Lack]:
    """Of each intent that got less than it asks for; the gravest of what its flows lack."""
    short: dict[str, list[tuple[PinnedFlow, Pin]]] = {}
    for flow in flows:
        pin = plan.pins.get(PlacedFlow(*flow.id))
        if pin is not None and pin.shortage in REASONS:
            short.setdefault(flow.id.intent, []).append((flow, pin))
    return {intent: _lack(found, refused=intent in plan.refused) for intent, found in short.items()}


def _lack(found: list[tuple[PinnedFlow, Pin]], refused: bool) -> Lack:
    gravest = min((pin.shortage for _, pin in found), key=[*REASONS].index)
    like = [(flow, pin) for flow, pin in found if pin.shortage == gravest]
    said = [f"{flow.id}: {words(flow, pin)}" for flow, pin in like[:_FLOWS]]
    if len(found) > len(said):
        said.append(f"{len(found) - len(said)} more flows lack something")
    return Lack(refused, REASONS[gravest], "; ".join(said))


def words(flow: PinnedFlow, pin: Pin) -> str:
    links = some(pin.binding)
    rivals = some(tuple(map(short_name, pin.rivals)))
    match pin.shortage:
        case "UNREACHABLE":
            return f"no live path from {flow.id.ingress}" + (f", {links} down" if links else "")
        case "SHADOWED":
            return (
                f"intent {rivals} pins the same packets; give it UDP source ports of "
                "its own, or delete one"
            )
        case "CONSTRAINED":
            wanted = [
                f"{what} {some(names)}"
                for what, names in (("includes", flow.include), ("avoids", flow.avoid))
                if names
            ]
            blocked = f"; {links} would be needed" if links else ""
            return f"no path from {flow.id.ingress} {' and '.join(wanted)}{blocked}"
        case "TOO_SLOW":
            return (
                f"the quickest path takes {time(pin.best_latency_s)}, more than "
                f"{time(flow.max_latency_s or 0.0)}"
            )
        case "NOT_DISJOINT":
            shared = f": all pass {links}" if links else ""
            return f"no two paths {_APART[flow.protection]}{shared}"
    got = f"{rate(pin.rate_bps)} of {rate(flow.rate_bps)}"
    if not pin.rate_bps:
        got = f"no {rate(flow.rate_bps)}"
    elif pin.rate_bps >= flow.rate_bps:
        got = f"no protection {flow.protection.value}"
    full = f" on {links}" if links else ""
    where = f", where {rivals} reserved" if rivals else ""
    return f"{got} to be had{full}{where}"

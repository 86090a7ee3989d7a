"""What an intent of any kind comes to on a fabric."""

from __future__ import annotations

from dataclasses import dataclass

from controller.fabric.model import Fabric
from controller.intents.demands import PinnedFlow, Reach
from controller.intents.model import Selector
from controller.intents.selectors import Problem, Selection, resolve

MAX_ENDPOINTS = 20_000


@dataclass(frozen=True, slots=True)
class Expansion:
    """``reach`` and ``flows`` are what can be had in spite of ``problems``. Without two NICs to
    join, nothing."""

    reach: Reach
    flows: tuple[PinnedFlow, ...] = ()
    problems: tuple[Problem, ...] = ()


def choose(path: str, selector: Selector, fabric: Fabric, hints: int) -> Selection:
    """What ``selector``, which is the field ``path``, chooses."""
    if selector == Selector():
        choices = "all, hosts, nics, accelerators or match_labels"
        return Selection(frozenset(), (Problem(path, f"chooses nothing; set {choices}"),))
    named = len(selector.hosts) + len(selector.nics) + len(selector.accelerators)
    if named > MAX_ENDPOINTS:
        fault = f"names {named} endpoints; name at most {MAX_ENDPOINTS}, or choose by labels or all"
        return Selection(frozenset(), (Problem(path, fault),))
    found = resolve(selector, fabric, hints)
    problems = (Problem(f"{path}.{p.path}", p.message) for p in found.problems)
    return Selection(found.nics, tuple(problems))

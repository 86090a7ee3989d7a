"""Every kind of fabric that can be generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.fabric.generate.draft import Draft, Elements
from controller.fabric.generate.dragonfly import Dragonfly
from controller.fabric.generate.dual_plane import DualPlane
from controller.fabric.generate.fat_tree import FatTree
from controller.fabric.generate.full_mesh import FullMesh
from controller.fabric.generate.leaf_spine import LeafSpine
from controller.fabric.generate.multi_site import MultiSite
from controller.fabric.generate.parameters import ParameterErrors, Parameters
from controller.fabric.generate.rail import Rail
from controller.fabric.generate.random_regular import RandomRegular
from controller.fabric.generate.small_world import SmallWorld
from controller.fabric.generate.torus import Torus
from controller.fabric.schema import Defaults
from controller.fabric.validate import unknown

KINDS: Mapping[str, type[Parameters]] = {
    kind.kind: kind
    for kind in (
        LeafSpine,
        Rail,
        FatTree,
        DualPlane,
        Dragonfly,
        Torus,
        RandomRegular,
        SmallWorld,
        FullMesh,
        MultiSite,
    )
}


def read(given: Mapping[str, Any]) -> Parameters:
    """Parameters in words, with their ``kind``. Raises ParameterErrors with all problems."""
    kind = given.get("kind")
    if kind is None:
        raise ParameterErrors.of(None, f"key 'kind' is missing: give one of {', '.join(KINDS)}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ParameterErrors.of("kind", unknown(f"kind {str(kind)!r}", str(kind), KINDS))
    return KINDS[kind].read({key: value for key, value in given.items() if key != "kind"})


def elements(parameters: Parameters, defaults: Defaults) -> Elements:
    """What the parameters describe, in a file with these defaults: equal inputs, equal elements.

    Raises ParameterErrors with all that does not fit together.
    """
    if problems := [((name,), text) for name, text in parameters.problems(defaults)]:
        raise ParameterErrors(problems)
    draft = Draft(defaults.accelerator.kind)
    parameters.draw(draft, defaults)
    return draft.elements()

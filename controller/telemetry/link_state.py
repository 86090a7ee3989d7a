"""What is measured, one value for each arc of the fabric (``Fabric.arcs`` order)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class LinkState:
    """Measured state of every arc; rates are bits per second over the last sample period.

    ``usable_bps`` is capacity less ``foreign_bps`` (what the port carries beyond Heald's own
    traffic), never below a floor, and 0 where ``up`` is false. Arcs of links that are ``barred``
    are not up, and nothing may lead over them, for switches take their ports to be alive; None:
    no link is.
    """

    version: int
    up: Bools
    usable_bps: Floats
    carried_bps: Floats
    foreign_bps: Floats
    dropped_pps: Floats
    measured_at_s: Floats
    barred: Bools | None = None

"""From counters of switches to link state and demands, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from controller.dataplane.ids import IngressKind, class_index, ingress_group, is_pin_group
from controller.dataplane.labels import Label
from controller.dataplane.tables import SwitchTables
from controller.engine.editing import Edit
from controller.engine.events import CountersRead
from controller.fabric.model import AttachmentSet, Fabric
from controller.intents.demands import DemandKey, Demands
from controller.openflow.model import Field, SetField
from controller.optimizer.plan import Plan
from controller.telemetry.counters import Rates
from controller.telemetry.estimate import (
    WINDOWS_S,
    Averages,
    carried,
    link_state,
    own_load,
    settled,
)
from controller.telemetry.link_state import Bools, Floats, LinkState
from controller.telemetry.traffic import measured_rates, smooth

Names = npt.NDArray[np.int64]

_NO_CLASS = ""
_ingress_group = lru_cache(maxsize=1 << 16)(ingress_group)
"""The same groups are counted again every second."""


class Measurements:
    """Holds the counters of all switches; everything else is derived from them on demand."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._sent: dict[str, Rates] = {}
        self._dropped: dict[str, Rates] = {}
        self._queue_errors: dict[str, Rates] = {}
        self._buckets: dict[str, Rates] = {}
        self._pinned: dict[str, Rates] = {}
        self._class_name = {class_index(c): c.name for c in fabric.classes}
        # What all hosts of a switch can send: a counter that says more is wrong.
        self._line_rate_bps = {
            switch: sum(nic.capacity_bps for _, nic in nics)
            for switch, nics in fabric.nics_on.items()
        }
        self._averages: tuple[Averages, ...] = ()
        self._measured: dict[DemandKey, float] = {}
        self._updated_s: float | None = None
        self._newest_s = 0.0
        self._version = 0

    def add(self, event: CountersRead, installed: SwitchTables | None) -> None:
        """Take in a sample. ``installed`` says which tree each bucket of a group leads to."""
        rows: tuple[tuple[dict[str, Rates], Names, npt.NDArray[np.int64]], ...] = (
            (self._sent, event.port[:, None], event.tx_bytes),
            (self._dropped, event.port[:, None], event.tx_dropped),
            (
                self._queue_errors,
                np.stack([event.queue_port, event.queue_id], axis=1),
                event.queue_errors,
            ),
        )
        for rates, names, values in rows:
            rates.setdefault(event.switch, Rates()).add(event.session, event.time_s, names, values)
        if installed is not None:
            names, values = _tree_rows(event, installed)
            self._buckets.setdefault(event.switch, Rates(bridge=True)).add(
                event.session, event.time_s, names, values
            )
            names, values = _pinned_rows(event, installed)
            self._pinned.setdefault(event.switch, Rates(bridge=True)).add(
                event.session, event.time_s, names, values
            )
        self._newest_s = max(self._newest_s, event.time_s)

    def edited(self, edit: Edit) -> Measurements:
        """The same for an edited fabric: what is known of switches that stay goes on."""
        new = Measurements(edit.after)
        for old, kind in zip(self._kinds, new._kinds, strict=True):
            kind.update(edit.of_switches(old))
        new._measured = {edit.names.demand(key): bps for key, bps in self._measured.items()}
        nothing = np.zeros(len(edit.arc))
        new._averages = tuple(
            replace(
                each,
                carried_bps=edit.by_arc(each.carried_bps, nothing),
                own_bps=edit.by_arc(each.own_bps, nothing),
            )
            for each in self._averages
        )
        new._updated_s, new._newest_s = self._updated_s, self._newest_s
        new._version = self._version
        return new

    @property
    def _kinds(self) -> tuple[dict[str, Rates], ...]:
        return self._sent, self._dropped, self._queue_errors, self._buckets, self._pinned

    def forget(self, switch: str) -> None:
        """Its counters mean nothing any more."""
        for rates in self._kinds:
            rates.pop(switch, None)

    def restart(self) -> None:
        """Measure anew from the last readings on."""
        for kind in self._kinds:
            for rates in kind.values():
                rates.restart()
        self._averages = ()

    def update(self, plan: Plan | None) -> bool:
        """Derive traffic and loads from the counters; returns whether there were newer ones."""
        if plan is None or self._newest_s == self._updated_s:
            return False
        elapsed_s = self._newest_s - (self._updated_s or self._newest_s)
        self._updated_s = self._newest_s
        ways = _ways(plan)
        averages = []
        for window_s in WINDOWS_S:
            by_bucket = self._bucket_bps(plan, window_s)
            own = own_load(self._fabric, ways, {**by_bucket, **self._pinned_bps(plan, window_s)})
            averages.append(settled(self._fabric, self._sent, window_s, own))
            if window_s == WINDOWS_S[0]:
                sample: dict[DemandKey, float] = {}
                for (key, _), bps in by_bucket.items():
                    most = self._line_rate_bps.get(key.ingress, 0.0)
                    sample[key] = min(most, sample.get(key, 0.0) + bps)
                # Where there is no reading just now, the last one stands.
                self._measured |= smooth(self._measured, sample, elapsed_s)
        self._averages = tuple(averages)
        return True

    def link_state(self, up: Bools, now: float) -> LinkState:
        self._version += 1
        return link_state(
            self._fabric,
            self._version,
            now,
            up,
            carried(self._fabric, self._sent, WINDOWS_S[0]),
            self._averages,
            self._dropped_pps(),
        )

    def demands(self, a_priori: Demands) -> Demands:
        self._version += 1
        return measured_rates(a_priori, self._measured, self._version)

    def _bucket_bps(self, plan: Plan, window_s: float) -> Mapping[tuple[DemandKey, int], float]:
        members = {egress.id: egress.members for egress in plan.egresses}
        found: dict[tuple[DemandKey, int], float] = {}
        for switch, rates in self._buckets.items():
            keys: dict[int, DemandKey | None] = {}
            for (group_id, tree), bytes_per_s in rates.average(window_s).items():
                if group_id not in keys:
                    keys[group_id] = self._demand(switch, group_id, members)
                key = keys[group_id]
                if key is not None:
                    at = key, tree
                    found[at] = found.get(at, 0.0) + 8 * bytes_per_s
        return found

    def _pinned_bps(self, plan: Plan, window_s: float) -> Mapping[tuple[DemandKey, int], float]:
        """What pins send by each tree: Heald's own, but no demand, whatever its class."""
        members = {egress.id: egress.members for egress in plan.egresses}
        found: dict[tuple[DemandKey, int], float] = {}
        for switch, rates in self._pinned.items():
            for (_, egress, tree), bytes_per_s in rates.average(window_s).items():
                if egress in members:
                    at = DemandKey(switch, members[egress], _NO_CLASS), tree
                    found[at] = found.get(at, 0.0) + 8 * bytes_per_s
        return found

    def _demand(
        self, switch: str, group_id: int, members: Mapping[int, AttachmentSet]
    ) -> DemandKey | None:
        """Whose traffic an ingress group spreads."""
        group = _ingress_group(group_id)
        name = None if group is None else self._class_name.get(group.class_index)
        if group is None or name is None or group.egress not in members:
            return None
        return DemandKey(switch, members[group.egress], name)

    def _dropped_pps(self) -> Floats:
        """Of ports and of the queues behind them; a switch counts a loss in one of the two."""
        lost: dict[tuple[str, int], float] = {}
        for kind in (self._dropped, self._queue_errors):
            for switch, rates in kind.items():
                for name, pps in rates.average(WINDOWS_S[0]).items():
                    lost[switch, name[0]] = lost.get((switch, name[0]), 0.0) + pps
        return np.array([lost.get((a.tail.switch, a.tail.port), 0.0) for a in self._fabric.arcs])


def _tree_rows(event: CountersRead, installed: SwitchTables) -> tuple[Names, Names]:
    """(group, tree) and bytes of each bucket of the ingress groups that spread traffic."""
    names: list[tuple[int, int]] = []
    values: list[int] = []
    for group_id, index, count in zip(
        event.bucket_group.tolist(),
        event.bucket_index.tolist(),
        event.bucket_bytes.tolist(),
        strict=True,
    ):
        said = _ingress_group(group_id)
        group = installed.groups.get(group_id)
        if said is None or said.kind is IngressKind.FAILOVER or group is None:
            continue
        if index < len(group.buckets):
            names.append((group_id, group.buckets[index].id))
            values.append(count)
    return np.array(names, np.int64).reshape(-1, 2), np.array(values, np.int64)


def _pinned_rows(event: CountersRead, installed: SwitchTables) -> tuple[Names, Names]:
    """(group, egress, tree) and bytes of each bucket that puts pinned packets on a path."""
    names: list[tuple[int, int, int]] = []
    values: list[int] = []
    for group_id, index, count in zip(
        event.bucket_group.tolist(),
        event.bucket_index.tolist(),
        event.bucket_bytes.tolist(),
        strict=True,
    ):
        group = installed.groups.get(group_id) if is_pin_group(group_id) else None
        if group is None or index >= len(group.buckets):
            continue
        for action in group.buckets[index].actions:
            if isinstance(action, SetField) and action.field is Field.ETH_DST:
                label = Label.unpack(action.value)
                if label is not None:
                    names.append((group_id, label.egress, label.tree))
                    values.append(count)
    return np.array(names, np.int64).reshape(-1, 3), np.array(values, np.int64)


def _ways(plan: Plan) -> Mapping[tuple[AttachmentSet, int], Mapping[str, int]]:
    members = {egress.id: egress.members for egress in plan.egresses}
    return {(members[tree.egress], tree.id): tree.next_port for tree in plan.trees}

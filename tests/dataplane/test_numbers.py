"""Labels, ids and prefixes: what is packed comes back, and nothing means two things."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.dataplane import ids, labels
from controller.dataplane.ids import IngressGroup, IngressKind
from controller.dataplane.labels import Label
from controller.dataplane.prefixes import spanning
from controller.fabric.model import TrafficClass
from controller.openflow.model import Bucket, Field, GroupType, Output, SetField
from controller.openflow.ownership import owns_flow, owns_group, owns_meter

any_label = st.builds(
    Label,
    st.integers(0, 3),
    st.integers(0, 1023),
    st.integers(0, 16383),
    st.integers(0, 16383),
)


@given(any_label)
def test_labels_come_back_from_a_unicast_local_mac(label: Label) -> None:
    mac = label.pack()
    assert mac >> 40 == 0x0E
    assert Label.unpack(mac) == label


@given(any_label, st.integers(0, 3), st.integers(0, 1023))
def test_a_move_keeps_the_destination(label: Label, generation: int, tree: int) -> None:
    action = labels.move(generation, tree)
    assert action.mask is not None
    moved = Label.unpack(label.pack() & ~action.mask | action.value)
    assert moved == Label(generation, tree, label.egress, label.segment)


@given(any_label, any_label)
def test_masks_match_what_they_say(one: Label, other: Label) -> None:
    def matched(value_and_mask: tuple[int, int], label: Label) -> bool:
        value, mask = value_and_mask
        assert not value & ~mask
        return label.pack() & mask == value

    default = other.segment == 0
    assert matched(labels.of_egress(one.egress), other) == (other.egress == one.egress and default)
    assert matched(labels.of_tree(one.egress, one.tree), other) == (
        (other.egress, other.tree) == (one.egress, one.tree) and default
    )
    assert matched(labels.of_generation(one.generation), other) == (
        other.generation == one.generation
    )


@pytest.mark.parametrize("label", [Label(4, 0, 0), Label(0, 1024, 0), Label(0, 0, 16384)])
def test_a_label_that_does_not_fit_is_refused(label: Label) -> None:
    with pytest.raises(ValueError, match="does not fit: there are 4 generations"):
        label.pack()


@given(st.integers(0, 16383), st.integers(0, 64), st.sampled_from(IngressKind))
def test_telemetry_reads_egress_and_class_from_a_group(
    egress: int, index: int, kind: IngressKind
) -> None:
    group = ids.ingress_group_id(egress, index, kind)
    assert ids.ingress_group(group) == IngressGroup(egress, index, kind)
    assert owns_group(group) and not ids.is_transit_group(group)


@given(st.integers(0, 255), st.integers(0, 3))
def test_transit_groups_are_not_taken_for_ingress(port: int, attempt: int) -> None:
    buckets = (Bucket(0, (Output(port),), watch_port=port),)
    group = ids.transit_group_id(GroupType.FAST_FAILOVER, buckets, attempt)
    assert owns_group(group) and ids.is_transit_group(group)
    assert ids.ingress_group(group) is None


def test_a_content_has_one_id_in_every_process_and_python() -> None:
    actions = (labels.move(1, 2), SetField(Field.NXM_IN_PORT, 0xFFFF), Output(3))
    buckets = (Bucket(0, actions, watch_port=3),)
    assert ids.transit_group_id(GroupType.FAST_FAILOVER, buckets) == 0x48D0A3F8


@given(st.integers(0, 2**32 - 1))
def test_other_peoples_groups_are_not_ours(group: int) -> None:
    if not 0x48000000 <= group < 0x49000000:
        assert ids.ingress_group(group) is None and not ids.is_transit_group(group)


def test_everything_written_is_owned() -> None:
    assert all(owns_flow(ids.cookie(kind, 0xFFFFFFFF)) for kind in ids.Kind)
    assert owns_meter(ids.METER_LLDP) and owns_meter(ids.METER_NEIGHBOURS)


def test_classes_are_numbered_by_dscp() -> None:
    assert ids.class_index(TrafficClass("any", None, 0)) == 0
    assert {ids.class_index(TrafficClass("x", d, 0)) for d in range(64)} == set(range(1, 65))


@given(st.sets(st.integers(0, 255), min_size=1), st.sets(st.integers(0, 255)))
def test_prefixes_hold_all_that_is_wanted_and_nothing_else_known(
    wanted: set[int], others: set[int]
) -> None:
    known = sorted(wanted | others)
    found = spanning(wanted, known, 8)
    held = [a for value, length in found for a in range(value, value + (1 << 8 - length))]
    assert len(held) == len(set(held))
    assert {a for a in held if a in known} == wanted
    assert all(value % (1 << 8 - length) == 0 for value, length in found)


@given(st.sets(st.integers(0, 255), min_size=1))
def test_alone_in_the_world_one_prefix_does(wanted: set[int]) -> None:
    assert len(spanning(wanted, sorted(wanted), 8)) == 1

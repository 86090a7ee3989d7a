"""What an edit changes, in words and as data."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.fabric.difference import Change, Kind, difference
from controller.fabric.load import load
from controller.fabric.model import Fabric
from tests.fabric.samples import few

TOPOLOGIES = sorted((Path(__file__).parents[2] / "topologies").glob("*.yaml"))
TEXT = (Path(__file__).parents[2] / "topologies" / "leaf-spine.yaml").read_text()


def fabric(text: str = TEXT) -> Fabric:
    return load(text.encode(), "fabric.yaml")


def edited(*edits: tuple[str, str]) -> list[str]:
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return [str(change) for change in difference(fabric(), fabric(text)).changes]


@pytest.mark.parametrize("path", TOPOLOGIES, ids=lambda path: path.stem)
def test_nothing_differs_from_itself_in_another_order(path: Path) -> None:
    once = load(path.read_bytes(), "one.yaml")
    again = load(b"# a comment\n" + path.read_bytes() + b"\n", "two.yaml")
    assert not difference(once, again)
    lines = [line for line in TEXT.splitlines() if line.startswith("  - [")]
    backwards = TEXT.replace("\n".join(lines), "\n".join(reversed(lines)))
    assert backwards != TEXT
    assert not difference(fabric(), fabric(backwards))


def test_elements_that_come_and_go() -> None:
    assert edited(("  - [leaf4:12, spine2:4]\n", "")) == [
        "link leaf4:12-spine2:4 removed: ends leaf4:12 – spine2:4, capacity 50M, latency 500ns"
    ]
    assert edited(("  h8: {attach: leaf4:2, accelerators: {gpu0: }}\n", "")) == [
        "host h8 removed",
        (
            "NIC h8/eth0 removed: attach leaf4:2, capacity 50M, mac 02:00:00:04:00:02, "
            "ips 10.0.4.2, fd00:0:0:4::2"
        ),
    ]
    added = edited(
        ("  spine2: {", "  leaf5: {role: leaf, dpid: 0x5}\n  spine2: {"),
        ("  - [leaf4:12, spine2:4]\n", "  - [leaf4:12, spine2:4]\n  - [leaf5:11, spine1:5]\n"),
    )
    assert [line.partition(":")[0] for line in added] == ["switch leaf5 added", "link leaf5"]


LINK = "[leaf1:11, spine1:1]"
HOST = "h1: {attach: leaf1:1,"


@pytest.mark.parametrize(
    ("old", "new", "said", "is_cosmetic"),
    [
        (LINK, f"{{ends: {LINK}, capacity: 10M}}", "capacity 50M → 10M", False),
        (LINK, f"{{ends: {LINK}, latency: 2us}}", "latency 500ns → 2us", False),
        (LINK, f"{{ends: {LINK}, srlgs: duct}}", "srlgs none → duct", False),
        (LINK, f"{{ends: {LINK}, medium: DAC}}", "medium none → DAC", True),
        (HOST, f"{HOST} ips: 10.9.9.9,", "ips 10.0.1.1, fd00:0:0:1::1 → 10.9.9.9", False),
        (HOST, f"{HOST} labels: {{team: a}},", "label team none → a", False),
        ("dpid: 0x1, pod: pod1", "dpid: 0x1, pod: pod2", "pod pod1 → pod2", True),
        (f"{HOST} accelerators: {{gpu0: }}", f"{HOST} accelerators: {{gpu0: B200}}",
         "model H100 → B200", True),
        ("\nfabric: ", "\nstrategy: ecmp\nfabric: ", "strategy auto → ecmp", False),
    ],
)  # fmt: skip
def test_fields_have_old_and_new_and_cosmetic_ones_are_told_apart(
    old: str, new: str, said: str, is_cosmetic: bool
) -> None:
    found = difference(fabric(), fabric(TEXT.replace(old, new, 1)))
    assert [change.kind for change in found.changes] == [Kind.CHANGED]
    assert found.changes[0].details == said
    assert found.is_cosmetic is is_cosmetic


def test_a_switch_of_the_same_datapath_is_renamed_with_all_that_hangs_on_it() -> None:
    found = difference(fabric(), fabric(TEXT.replace("leaf1:", "zebra:")))
    assert found.changes == (Change(Kind.RENAMED, "switch", "zebra", (), "leaf1"),)
    assert found.renamed_switches == {"leaf1": "zebra"}
    assert found.summary() == "switch leaf1 → zebra renamed"
    assert not found.is_cosmetic


def test_switches_may_exchange_their_names() -> None:
    swapped = TEXT.replace("leaf1:", "\0").replace("leaf2:", "leaf1:").replace("\0", "leaf2:")
    found = difference(fabric(), fabric(swapped))
    assert found.renamed_switches == {"leaf1": "leaf2", "leaf2": "leaf1"}
    assert {change.element for change in found.changes} == {"switch"}


def test_a_name_may_go_to_another_switch_while_its_owner_goes() -> None:
    text = TEXT.replace("dpid: 0x101", "dpid: 0x201").replace("spine2", "spine3")
    found = difference(fabric(), fabric(text.replace("spine1", "spine2")))
    assert [str(c) for c in found.changes if c.element == "switch"] == [
        "switch spine1 removed: dpid 0x101, role spine",
        "switch spine2 added: dpid 0x201, role spine",
        "switch spine2 → spine3 renamed",
    ]


def test_a_link_keeps_its_identity_by_its_ends() -> None:
    assert edited(("[leaf1:11, spine1:1]", "{ends: [leaf1:11, spine1:1], name: east}")) == [
        "link leaf1:11-spine1:1 → east renamed"
    ]


@few
@given(data=st.data())
def test_there_is_no_difference_exactly_if_fabrics_are_equal(data: st.DataObject) -> None:
    one = fabric()
    dropped = data.draw(st.sets(st.sampled_from(range(len(one.links)))))
    slower = data.draw(st.sets(st.sampled_from(range(len(one.links)))))
    links = tuple(
        replace(link, capacity_bps=1e6) if i in slower else link
        for i, link in enumerate(one.links)
        if i not in dropped
    )
    other = replace(one, links=links, version=7)
    found = difference(one, other)
    assert bool(found) == (one != other)
    removed = {c.name for c in found.changes if c.kind is Kind.REMOVED}
    assert removed == {one.links[i].name for i in dropped}
    changed = {c.name for c in found.changes if c.kind is Kind.CHANGED}
    assert changed == {one.links[i].name for i in slower - dropped}
    # Backwards, what came goes.
    back = difference(other, one)
    assert {c.name for c in back.changes if c.kind is Kind.ADDED} == removed


def test_no_field_of_any_element_is_left_out() -> None:
    text = TEXT.replace(
        "fabric: leaf-spine\n", "fabric: leaf-spine\nclasses: {roce: {dscp: 26, queue: 1}}\n"
    )
    one = fabric(text)
    nic, link, switch = one.hosts[0].nics[0], one.links[0], one.switches[0]
    accelerator, traffic_class = one.hosts[0].accelerators[0], one.classes[0]
    identity = {"name", "host", "source", "version", "switches", "hosts", "links", "classes"}
    assert {
        f.name for e in (nic, link, switch, accelerator, traffic_class, one) for f in fields(e)
    } == (
        identity
        | {"mac", "addresses", "attachments", "capacity_bps", "rail", "plane"}
        | {"a", "b", "latency_s", "srlgs", "medium", "bfd"}
        | {"dpid", "role", "pod", "site", "flow_limit", "group_limit", "ovsdb"}
        | {"kind", "model", "nic", "domain"}
        | {"dscp", "other_dscps", "queue", "share", "ceiling", "priority", "lossless"}
        | {"gateway_mac", "gateway_ipv4", "gateway_ipv6", "strategy"}
    ), "tell the new field in controller/fabric/fields.py, and here"
    assert (
        difference(one, replace(one, strategy="ecmp")).changes[0].details == "strategy auto → ecmp"
    )


def test_a_port_that_a_nic_moves_to() -> None:
    found = difference(
        fabric(), fabric(TEXT.replace("h8: {attach: leaf4:2", "h8: {attach: leaf3:9"))
    )
    assert found.changes[0].name == "h8/eth0"
    assert [f.field for f in found.changes[0].fields] == ["attach", "mac", "ips"]

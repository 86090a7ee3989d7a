"""What people write at the prompt of a lab, and what they are told when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.fabric.load import load
from controller.fabric.model import Fabric
from controller.lab.errors import LabError
from controller.lab.prompt import words as w

TOPOLOGIES = Path(__file__).parents[2] / "topologies"


def fabric(name: str) -> Fabric:
    path = TOPOLOGIES / f"{name}.yaml"
    return load(path.read_bytes(), str(path))


LEAF_SPINE = fabric("leaf-spine")
RAILS = fabric("rail-optimised")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("h1..h4", ["h1", "h2", "h3", "h4"]),
        ("h2..4", ["h2", "h3", "h4"]),
        ("gpu08..gpu10", ["gpu08", "gpu09", "gpu10"]),
        ("h1..h2/rail0", ["h1/rail0", "h2/rail0"]),
        ("h3", ["h3"]),
        ("leaf1:11-spine1:1", ["leaf1:11-spine1:1"]),
    ],
)
def test_a_range_stands_for_its_names(written: str, meant: list[str]) -> None:
    assert list(w.names([written])) == meant


@pytest.mark.parametrize("written", ["h8..h1", "h1..g8", "h1..h99999"])
def test_what_is_no_range_is_said(written: str) -> None:
    with pytest.raises(LabError, match="is no range of names: write it like h1"):
        list(w.names([written]))


@pytest.mark.parametrize(
    ("written", "meant"), [("10", 10), ("1.5s", 1.5), ("500ms", 0.5), ("2m", 120)]
)
def test_times(written: str, meant: float) -> None:
    assert w.seconds(written) == meant


@pytest.mark.parametrize("written", ["0", "-1", "1h", "x", "99999", ""])
def test_what_is_no_time_is_said(written: str) -> None:
    with pytest.raises(LabError, match="is no time: write seconds"):
        w.seconds(written)


@pytest.mark.parametrize(
    ("written", "meant"), [("10MB", 10_000_000), ("64KiB", 65536), ("1.5GB", 1_500_000_000)]
)
def test_sizes(written: str, meant: int) -> None:
    assert w.size_bytes(written) == meant


@pytest.mark.parametrize("written", ["10", "10M", "0MB", "MB"])
def test_what_is_no_size_is_said(written: str) -> None:
    with pytest.raises(LabError, match="is no size: write bytes with KB, MB"):
        w.size_bytes(written)


def test_options_stand_anywhere_and_unknown_ones_are_named() -> None:
    plain, values = w.options(["h1", "for=3", "h2"], {"for": w.seconds})
    assert (plain, values) == (["h1", "h2"], {"for": 3.0})
    with pytest.raises(LabError, match="there is no option 'four' here; did you mean 'for'"):
        w.options(["four=3"], {"for": w.seconds})


def test_a_host_stands_for_its_first_nic() -> None:
    assert w.nic(LEAF_SPINE, "h1").id == "h1/eth0"
    first, second = RAILS.host_by_name["h1"].nics[:2]
    assert w.nic(RAILS, "h1") is first
    assert w.nic(RAILS, second.id) is second
    with pytest.raises(LabError, match="there is no host 'h9'; there are h1, h2"):
        w.nic(LEAF_SPINE, "h9")
    with pytest.raises(LabError, match="host h1 has no NIC 'h1/eth7'; it has h1/eth0"):
        w.nic(LEAF_SPINE, "h1/eth7")


def test_a_star_stands_for_a_group_on_each_rail() -> None:
    rails = w.rails(RAILS, ["h1..h8/*"])
    assert len(rails) == 4
    for rail in rails:
        assert [nic.host for nic in rail] == [f"h{n}" for n in range(1, 9)]
        assert len({nic.name for nic in rail}) == 1
    with pytest.raises(LabError, match=r"for all of the hosts, or for none"):
        w.rails(RAILS, ["h1/*", "h2"])


def test_a_cable_is_named_by_its_ends_or_by_itself() -> None:
    assert w.cables(LEAF_SPINE, ["spine1", "leaf1"]) == ["leaf1:11-spine1:1"]
    assert w.cables(LEAF_SPINE, ["h1", "leaf1"]) == ["h1/eth0"]
    assert w.cables(LEAF_SPINE, ["h1/eth0"]) == ["h1/eth0"]
    for named in (["leaf1", "spine3"], ["leaf1:11-spine1:2"]):
        with pytest.raises(LabError, match="did you mean"):
            w.cables(LEAF_SPINE, named)
    with pytest.raises(LabError, match="no cable joins leaf1 and leaf2; `links` shows all"):
        w.cables(LEAF_SPINE, ["leaf1", "leaf2"])


def test_each_cable_of_a_nic_on_two_switches_has_a_name() -> None:
    dual = fabric("dual-plane")
    nic = next(nic for nic in dual.nics if len(nic.attachments) == 2)
    for cable, attachment in zip((nic.id, f"{nic.id}#1"), nic.attachments, strict=True):
        assert w.cables(dual, [nic.host, attachment.switch]) == [cable]

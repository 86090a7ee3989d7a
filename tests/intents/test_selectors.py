"""What a selector chooses, and what is said when a name is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.intents.model import Selector
from controller.intents.selectors import resolve
from tests.northbound.harness import make_fabric

FABRIC = make_fabric(6)


@pytest.mark.parametrize(
    ("selector", "nics"),
    [
        (Selector(hosts=("h1", "h2")), {"h1/eth0", "h1/eth1", "h2/eth0"}),
        (Selector(nics=("h1/eth1",)), {"h1/eth1"}),
        (Selector(accelerators=("h1/gpu1", "h2/gpu0")), {"h1/eth1", "h2/eth0"}),
        (Selector(match_labels={"pod": "b"}), {"h4/eth0", "h5/eth0", "h6/eth0"}),
        (Selector(match_labels={"pod": "b", "rack": "r5"}), {"h5/eth0"}),
        (Selector(hosts=("h2",), match_labels={"rack": "r5"}), {"h2/eth0", "h5/eth0"}),
        (Selector(all=True), set(FABRIC.nic_by_id)),
        (Selector(), set()),
    ],
)
def test_chooses(selector: Selector, nics: set[str]) -> None:
    selection = resolve(selector, FABRIC)
    assert selection.nics == nics
    assert not selection.problems


def test_every_unknown_name_is_named_and_the_rest_is_still_chosen() -> None:
    selection = resolve(
        Selector(
            hosts=("h2", "hh3"),
            nics=("h1/eth7", "h1/eth0"),
            accelerators=("h1/gpuO",),
            match_labels={"pod": "z"},
        ),
        FABRIC,
    )
    assert selection.nics == {"h2/eth0", "h1/eth0"}
    assert [p.path for p in selection.problems] == [
        "hosts[1]",
        "nics[0]",
        "accelerators[0]",
        "match_labels[pod]",
    ]
    texts = [p.message for p in selection.problems]
    assert "host 'hh3'; did you mean 'h3'?" in texts[0]
    assert "did you mean 'h1/eth" in texts[1]
    assert "did you mean 'h1/gpu" in texts[2]
    assert "no host of fabric 'lab' has the label pod=z; there are a, b" in texts[3]


def test_labels_that_no_host_carries_together() -> None:
    problem = resolve(Selector(match_labels={"pod": "a", "rack": "r6"}), FABRIC).problems[0]
    assert (problem.path, "at once" in problem.message) == ("match_labels", True)


NAMES = st.lists(st.sampled_from(["h1", "h2", "h6", "h7", "", "h1/eth0"]), max_size=4).map(tuple)


@given(NAMES, NAMES)
def test_adding_names_only_ever_adds_nics(some: tuple[str, ...], more: tuple[str, ...]) -> None:
    few = resolve(Selector(hosts=some), FABRIC)
    many = resolve(Selector(hosts=some + more), FABRIC)
    assert few.nics <= many.nics <= set(FABRIC.nic_by_id)
    unknown = [name for name in some + more if name not in FABRIC.host_by_name]
    assert len(many.problems) == len(unknown)


def test_only_the_first_mistakes_get_a_suggestion() -> None:
    """A suggestion takes time in a large fabric, and nobody reads hundreds."""
    selection = resolve(Selector(hosts=tuple(f"hh{i}" for i in range(20))), FABRIC)
    assert len(selection.problems) == 20
    assert sum("did you mean" in p.message for p in selection.problems) <= 5
    assert not any(
        "did you mean" in p.message for p in resolve(Selector(hosts=("hh1",)), FABRIC, 0).problems
    )

"""Fabrics that are generated: what every kind promises, whatever the sizes."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from controller.cli.topology import topology
from controller.fabric.generate import kinds, write
from controller.fabric.generate.draft import Value
from controller.fabric.generate.kinds import KINDS
from controller.fabric.generate.presets import PRESETS
from controller.fabric.load import TopologyErrors, load
from controller.fabric.model import Fabric, PortRef
from controller.fabric.schema import Defaults
from tests.fabric.samples import few

DEFAULTS: dict[str, Value] = {"link": {"capacity": "400G"}, "nic": {"capacity": "200G"}}


def block(kind: str, rest: str = "", /, **words: str | int) -> Fabric:
    given = {"kind": kind, **{name: str(word) for name, word in words.items()}}
    return load((write.block("f", DEFAULTS, given, {}) + rest).encode(), "f.yaml")


def written(kind: str, /, **words: str | int) -> Fabric:
    parameters = kinds.read({"kind": kind, **{name: str(word) for name, word in words.items()}})
    made = kinds.elements(parameters, Defaults.model_validate(DEFAULTS))
    return load(write.expanded("f", DEFAULTS, made).encode(), "f.yaml")


small = st.integers(1, 4)
SIZES: dict[str, dict[str, st.SearchStrategy[int] | st.SearchStrategy[str]]] = {
    "leaf-spine": {"leaves": small, "spines": small, "hosts": small, "cables": small},
    "rail": {"segments": small, "hosts": small, "rails": small, "spines": small},
    "fat-tree": {"k": st.sampled_from([2, 4, 6]), "hosts": small},
    "dual-plane": {"segments": small, "hosts": small, "rails": small, "planes": st.integers(1, 2)},
    "dragonfly": {"routers": st.integers(1, 3), "globals": st.integers(1, 2), "hosts": small},
    "torus": {
        "dimensions": st.lists(st.integers(2, 4), min_size=1, max_size=3).map(
            lambda sizes: "x".join(map(str, sizes))
        )
    },
    "random-regular": {
        "switches": st.sampled_from([6, 8, 10]),
        "degree": st.integers(3, 5),
        "seed": st.integers(0, 99),
    },
    "small-world": {"switches": st.integers(5, 12), "seed": st.integers(0, 99)},
    "full-mesh": {"switches": st.integers(1, 7), "hosts": small, "cables": st.integers(1, 2)},
    "multi-site": {"sites": st.integers(2, 4), "borders": small, "leaves": small},
}


def graph(fabric: Fabric) -> nx.MultiGraph:
    found = nx.MultiGraph()
    found.add_nodes_from(fabric.switch_by_name)
    found.add_edges_from((link.a.switch, link.b.switch) for link in fabric.links)
    return found


@pytest.mark.parametrize("kind", KINDS)
@few
@given(st.data())
def test_a_block_is_what_it_would_be_written_out(kind: str, data: st.DataObject) -> None:
    words = {name: data.draw(sizes, name) for name, sizes in SIZES[kind].items()}
    fabric = block(kind, **words)
    assert fabric == written(kind, **words) == block(kind, **words)
    assert {s.source.line for s in fabric.switches if s.source} == {7}
    joined = graph(fabric)
    hosts = {port.switch for nic in fabric.nics for port in nic.attachments}
    if kind != "dual-plane":
        assert nx.is_connected(joined)
    assert hosts
    uses = [end for link in fabric.links for end in (link.a, link.b)]
    uses += [port for nic in fabric.nics for port in nic.attachments]
    assert len(set(uses)) == len(uses)
    # Chosen datapath ids keep the derived addresses of a leaf in one prefix, 10.N.N.0/24.
    assert len({s.dpid for s in fabric.switches}) == len(fabric.switches)


def degrees(fabric: Fabric) -> dict[str, int]:
    return dict(graph(fabric).degree())


def test_degrees_are_those_of_the_kind() -> None:
    by_role: dict[str, Counter[int]] = {}
    fat_tree = block("fat-tree", k=6)
    for name, degree in degrees(fat_tree).items():
        by_role.setdefault(fat_tree.switch_by_name[name].role, Counter())[degree] += 1
    assert by_role == {"leaf": {3: 18}, "aggregation": {6: 18}, "core": {6: 9}}
    assert len(fat_tree.hosts) == 54
    assert set(degrees(block("torus", dimensions="3x4x5")).values()) == {6}
    assert set(degrees(block("torus", dimensions="2x2x2")).values()) == {3}
    assert set(degrees(block("random-regular", switches=20, degree=5)).values()) == {5}
    assert set(degrees(block("full-mesh", switches=7)).values()) == {6}
    # Balanced: a - 1 links inside the group and h outside.
    dragonfly = block("dragonfly", routers=4, globals=2, hosts=2)
    assert len(dragonfly.switches) == 36 and set(degrees(dragonfly).values()) == {5}
    between = Counter(
        frozenset(str(dragonfly.switch_by_name[end.switch].pod) for end in (link.a, link.b))
        for link in dragonfly.links
    )
    assert {n for groups, n in between.items() if len(groups) == 2} == {1}
    assert sum(len(groups) == 2 for groups in between) == 36


def test_rails_and_planes_are_kept_apart() -> None:
    rail = block("rail", segments=2, hosts=3, rails=4)
    for nic in rail.nics:
        assert nic.attachments[0].switch.endswith(f"rail{nic.rail}")
    assert [a.nic for a in rail.hosts[0].accelerators] == ["nic0", "nic1", "nic2", "nic3"]
    planes = block("dual-plane", segments=3, hosts=2, rails=2, spines=2)
    assert nx.number_connected_components(graph(planes)) == 2
    assert all([s[-1] for s in nic.attachment_set] == ["a", "b"] for nic in planes.nics)
    assert nx.is_connected(graph(block("dual-plane", planes=1)))


def test_another_seed_is_another_fabric() -> None:
    def cables(seed: int) -> list[str]:
        return [link.name for link in block("random-regular", switches=20, seed=seed).links]

    assert cables(1) == cables(1) != cables(2)


def test_oversubscription_sets_the_rate_of_uplinks() -> None:
    fabric = block("leaf-spine", hosts=6, spines=3, oversubscription="2:1")
    assert {link.capacity_bps for link in fabric.links} == {200e9}
    dual = block("dual-plane", hosts=8, spines=2, oversubscription=1)
    assert {link.capacity_bps for link in dual.links} == {400e9}


def test_what_is_written_beside_a_block_is_added() -> None:
    more = "hosts: {x1: leaf1:5}\nswitches: {extra: }\nlinks: [[extra:1, spine1:40]]\n"
    fabric = block("leaf-spine", more)
    assert fabric.switch_by_name["extra"] and fabric.host_by_name["x1"]
    assert len(fabric.links) == 9
    assert fabric.arc_by_tail[PortRef("extra", 1)].head == PortRef("spine1", 40)


def said(text: str) -> list[str]:
    with pytest.raises(TopologyErrors) as caught:
        load(f"fabric: f\n{text}\n".encode(), "f.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_all_that_is_wrong_with_a_block_is_said_at_once() -> None:
    x, spinez, spines = said("generate: {kind: leaf-spine, leaves: x, spinez: 3, spines: 0}")
    assert x.startswith("f.yaml:2:30: 'x' is no count")
    assert spinez == "f.yaml:2:41: unknown key 'spinez': did you mean 'spines'?"
    assert "it goes from 1" in spines
    nics, nothing = said("generate: {kind: rail, nics: 3, rails: 2, spines: 0}")
    assert "give a multiple of the rails" in nics and "nothing joins the segments" in nothing
    assert "did you mean 'leaf-spine'" in said("generate: leafspine")[0]
    assert "choose smaller sizes" in said("generate: {kind: full-mesh, switches: 60000}")[0]
    assert "of which rate?" in said("generate: {kind: fat-tree, oversubscription: 2}")[0]
    clash = said("generate: {kind: leaf-spine}\nswitches: {leaf1: }")
    assert clash[-1].startswith("f.yaml:3:12: 'leaf1' is among what the `generate` block at line 2")


def test_a_block_of_a_thousand_hosts_is_read_as_fast_as_the_file() -> None:
    made = kinds.elements(kinds.read({"kind": "fat-tree", "k": "16"}), Defaults())
    file = write.expanded("f", DEFAULTS, made).encode()
    block = write.block("f", DEFAULTS, {"kind": "fat-tree", "k": "16"}, {}).encode()

    def took_s(text: bytes) -> float:
        began_s = time.process_time()
        assert len(load(text, "f").hosts) == 1024
        return time.process_time() - began_s

    # Of each the best of three: what else the process does counts in a single one.
    assert min(took_s(block) for _ in range(3)) < 2 * min(took_s(file) for _ in range(3))


def generate(*arguments: str) -> Result:
    return CliRunner().invoke(topology, ["generate", *arguments])


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_each_kind_works(kind: str, tmp_path: Path) -> None:
    help_ = generate(kind, "--help").output
    assert f"heald topology generate {kind} {KINDS[kind].example}" in help_
    found = []
    for more in ([], ["--block"]):
        file = tmp_path / "made.yaml"
        done = generate(kind, *KINDS[kind].example.split(), *more, "-o", str(file))
        assert done.exit_code == 0, done.output
        found.append(load(file.read_bytes(), "made.yaml"))
    assert found[0] == found[1]


GPUS = {
    "spectrum-x": (4096, 128, 4096),
    "hpn-single-plane": (15360, 360, 28800),
    "hpn-dual-plane": (15360, 360, 14400),
    "dcn-plus": (512, 16, 64),
    "dcn-plus-single-tor": (512, 16, 64),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_the_published_sizes(name: str) -> None:
    preset = PRESETS[name]
    made = kinds.elements(
        kinds.read({"kind": preset.kind, **preset.parameters}), Defaults.model_validate(DEFAULTS)
    )
    gpus = sum(len(h["accelerators"]) for h in made.hosts.values())  # type: ignore[arg-type,call-overload,index]
    assert (gpus, len(made.switches), len(made.links)) == GPUS[name]
    small = generate(preset.kind, "--preset", name, "--segments", "1")
    fabric = load(small.stdout.encode(), "small")
    assert fabric.name == name and preset.about[:40] in small.stdout


def test_options_that_are_wrong_are_all_named() -> None:
    done = generate("leaf-spine", "--leaves", "x", "--spines", "0")
    assert done.exit_code == 2
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["--leaves", "--spines"]
    assert "--nic: rate '4' has no unit" in generate("torus", "--nic", "4").stderr
    assert "cannot be written" in generate("torus", "-o", "/nowhere/x").stderr


def test_what_is_wrong_with_the_defaults_is_said_rather_than_what_follows_from_it() -> None:
    text = b"""\
fabric: f
defaults: {nic: {capacity: 400X}}
generate: {kind: leaf-spine, leaves: 2, spines: 2, oversubscription: 2}
"""
    with pytest.raises(TopologyErrors) as caught:
        load(text, "f.yaml")
    assert "f.yaml:2:28: '400X' is no rate" in str(caught.value)
    assert len(caught.value.problems) == 1


def test_the_command_names_all_that_is_wrong_with_its_options() -> None:
    wrong = {"--cables": "0", "--oversubscription": "no", "--link": "fast", "--nic": "4"}
    done = generate(
        "leaf-spine", *(word for pair in wrong.items() for word in pair), "--name", "a b"
    )
    assert done.exit_code == 2
    for option in (*wrong, "--name"):
        assert f"heald: {option}: " in done.stderr


@pytest.mark.parametrize("degree", [96, 98, 99])
def test_a_random_graph_of_nearly_all_links_is_drawn_at_once(degree: int) -> None:
    given = {"kind": "random-regular", "switches": "100", "degree": str(degree)}
    made = kinds.elements(kinds.read(given), Defaults())
    assert len(made.links) == 100 * degree // 2

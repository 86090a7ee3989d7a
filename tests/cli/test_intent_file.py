"""Files of intents: what is read, and that every mistake has its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import heald
from controller.cli.intent_file import read
from heald.v1.intents_pb2 import Selector

GOOD = """\
# a comment
intents:
  - name: train-a
    labels: {team: research, on: 1e3}
    connectivity: {endpoints: {hosts: [h1, 2]}}
  - name: tenants/other/intents/b
    connectivity:
      endpoints:
        all: true
        labels: {pod: a}
"""


def test_yaml_and_json_say_the_same() -> None:
    file = read("f", GOOD.encode())
    assert not file.mistakes
    first, second = file.intents
    assert first.name == "tenants/default/intents/train-a"
    assert dict(first.labels) == {"team": "research", "on": "1e3"}
    assert list(first.spec.connectivity.endpoints.hosts) == ["h1", "2"]
    assert second.name == "tenants/other/intents/b"
    assert second.spec.connectivity.endpoints.all
    as_json = {
        "intents": [
            {
                "name": "train-a",
                "labels": {"team": "research", "on": "1e3"},
                "connectivity": {"endpoints": {"hosts": ["h1", "2"]}},
            },
            {
                "name": "tenants/other/intents/b",
                "connectivity": {"endpoints": {"all": True, "labels": {"pod": "a"}}},
            },
        ]
    }
    assert read("f", json.dumps(as_json).encode()).intents == file.intents


def test_fields_of_the_api_are_found_in_the_file() -> None:
    file = read("f", GOOD.encode())
    assert file.place_of("[0].spec.connectivity.endpoints.hosts[1]") == (5, 44)
    assert file.place_of("[1].spec.connectivity.endpoints.match_labels[pod]") == (10, 18)
    assert file.place_of("[0].name") == (3, 11)
    assert file.place_of("[1].labels[none]") == (6, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f:1:1: is empty"),
        ("intents:", "f:1:9: `intents` must be a list, not nothing"),
        ("[a]", "f:1:1: the file must be keys with values, not a list"),
        ("intent: []", "f:1:1: the file has no key 'intent'; did you mean 'intents'?"),
        ("intents: [{nam: a}]", "f:1:12: an intent has no key 'nam'; did you mean 'name'?"),
        ("intents: [{name: a}]", "f:1:11: the intent has no `connectivity` or `point"),
        ("intents: [{name: a, name: b}]", "f:1:21: `name` is here twice"),
        ("intents: [{name: [a]}]", "f:1:18: `name` must be a word, not a list"),
        ("intents: [{name: ~, connectivity: {}}]", "f:1:18: `name` must be a word, not nothing"),
        ("intents: [\n  a: b: c", "f:2:7: no valid YAML"),
        ("a: 1\n---\nb: 2", "f:2:1: no valid YAML"),
        ("intents: [*x]", "f:1:11: no valid YAML"),
        ('intents: [{name: "\\ud800", connectivity: {}}]', "f:1:18: `name` has half a letter"),
        ("intents: [{name: a, connectivity: {endpoints: {all: 1}}}]", "f:1:53: `all` must be true"),
    ],
)
def test_mistakes(text: str, expected: str) -> None:
    assert any(str(m).startswith(expected) for m in read("f", text.encode()).mistakes)


POINT_TO_POINT = """\
intents:
  - name: ckpt
    point_to_point:
      source: {hosts: [h1]}
      destination: {nics: [h8/eth0], labels: {pod: b}}
      rate: 40 Gbit/s
      class: storage
      max_latency: 20 us
      include: [spine1]
      avoid: ["leaf1:12-spine2:1", duct]
      protection: node
      bidirectional: true
      udp_source_ports: [49152, 49153]
      priority: -3
      on_shortage: degrade
"""


def test_a_point_to_point_intent_says_what_the_builder_says() -> None:
    file = read("f", POINT_TO_POINT.encode())
    assert not file.mistakes
    made = heald.point_to_point(
        "ckpt",
        "h1",
        Selector(nics=["h8/eth0"], match_labels={"pod": "b"}),
        rate_bps=40e9,
        traffic_class="storage",
        max_latency_s=20e-6,
        include=["spine1"],
        avoid=["leaf1:12-spine2:1", "duct"],
        protection="node",
        bidirectional=True,
        udp_source_ports=[49152, 49153],
        priority=-3,
        on_shortage="degrade",
    )
    assert file.intents == [made]


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("source.hosts[0]", (4, 24)),
        ("destination.match_labels[pod]", (5, 47)),
        ("rate_bps", (6, 13)),
        ("traffic_class", (7, 14)),
        ("max_latency_s", (8, 20)),
        ("avoid[1]", (10, 36)),
        ("udp_source_ports[1]", (13, 33)),
        ("", (4, 7)),
    ],
)
def test_fields_of_a_point_to_point_intent_are_found(field: str, place: tuple[int, int]) -> None:
    file = read("f", POINT_TO_POINT.encode())
    path = f"[0].spec.point_to_point.{field}".rstrip(".")
    assert file.place_of(path) == place


def test_mistakes_of_a_point_to_point_intent_come_all_at_once() -> None:
    text = """\
intents:
  - name: a
    point_to_point:
      source: h1
      rate: 40
      max_latency: 0us
      protection: nodes
      bidirectional: yes
      udp_source_ports: [0, [1]]
      priority: high
      on_shortage: ~
      band: 1
  - {name: b, connectivity: {endpoints: {all: true}}, point_to_point: {}}
"""
    said = [str(m) for m in sorted(read("f", text.encode()).mistakes)]
    expected = [
        "f:4:7: `point_to_point` has no `destination`",
        "f:4:15: `source` must be keys with values, not 'h1'",
        "f:5:13: rate '40' has no unit: did you mean 40G?",
        "f:6:20: no path takes 0 s; give a longer time, or delete the key",
        "f:7:19: `protection` must be none, link, node or srlg, not 'nodes'",
        "f:8:22: `bidirectional` must be true or false, not 'yes'",
        "f:9:26: UDP port '0' is impossible: it goes from 1 to 65535",
        "f:9:29: a list where UDP port, 1 to 65535 belongs",
        "f:10:17: 'high' is no priority: write a decimal number",
        "f:11:20: `on_shortage` must be reject or degrade, not nothing",
        "f:12:7: `point_to_point` has no key 'band'",
        "f:13:71: the intent has `connectivity`, too; make two intents of it",
    ]
    assert len(said) == len(expected)
    for line, start in zip(said, expected, strict=True):
        assert line.startswith(start)


def test_all_mistakes_are_found_at_once() -> None:
    text = (
        "intents:\n- nme: a\n- {name: b, connectivity: {endpoints: {hosts: h1, nicks: []}}}\n- 7\n"
    )
    assert len(read("f", text.encode()).mistakes) == 4


PIECES = st.sampled_from(
    [
        "intents:",
        "\n",
        "  ",
        "- ",
        "name: a",
        "connectivity: ",
        "{",
        "}",
        "[",
        "]",
        "endpoints: ",
        "hosts: ",
        "*a",
        "&a ",
        "<<: ",
        "!!binary ",
        "? ",
        ": ",
        "'",
        '"',
        "\t",
        "\x00",
        "\ud7ff",
        "all: yes",
        "point_to_point: ",
        "rate: ",
        "source: ",
        "udp_source_ports: ",
    ]
)


@given(
    st.one_of(
        st.binary(max_size=60), st.lists(PIECES, max_size=25).map(lambda p: "".join(p).encode())
    )
)
def test_no_bytes_raise(content: bytes) -> None:
    file = read("f", content)
    assert file.mistakes or content


def test_deep_nesting_is_a_mistake() -> None:
    assert read("f", b"[" * 20_000).mistakes

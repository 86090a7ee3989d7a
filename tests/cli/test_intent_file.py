"""Files of intents: what is read, and that every mistake has its place."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.cli.intent_file import read

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
        ("intents: [{name: a}]", "f:1:11: the intent has no `connectivity`; add it"),
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

"""Whatever the bytes, ``load`` gives a Fabric or TopologyErrors, soon and within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.fabric.load import TopologyErrors, load
from tests.fabric.samples import GOOD, few


def outcome(raw: bytes) -> list[str]:
    """The problems; empty for a fabric."""
    try:
        load(raw, "f.yaml")
    except TopologyErrors as caught:
        problems = caught.problems
    else:
        return []
    assert problems
    lines = raw.count(b"\n") + raw.count(b"\r") + 1
    # YAML also breaks lines at NEL, LS and PS.
    lines += raw.count(b"\xc2\x85") + raw.count(b"\xe2\x80\xa8") + raw.count(b"\xe2\x80\xa9")
    for problem in problems:
        assert problem.where.file == "f.yaml"
        assert 1 <= problem.where.line <= lines
        assert problem.where.column >= 1
        assert "\n" not in problem.text
    return [str(problem) for problem in problems]


@few
@given(st.binary(max_size=200))
def test_noise(raw: bytes) -> None:
    assert outcome(raw)


@few
@given(st.text(alphabet="[]{}:,-?&*!|>'\"%@`#\\ \n\tabx<~0.", max_size=60))
def test_punctuation(text: str) -> None:
    assert outcome(text.encode())


@few
@given(st.integers(0, len(GOOD)), st.integers(0, 12), st.binary(max_size=8))
def test_a_damaged_file(at: int, cut: int, insert: bytes) -> None:
    raw = GOOD.encode()
    outcome(raw[:at] + insert + raw[at + cut :])


KEY_WORDS = """
    fabric defaults gateway classes switches hosts links link nic accelerator capacity latency mac
    ipv4 ipv6 dscp queue dpid role pod limits flows ovsdb ips rail attach nics accelerators labels
    kind model domain ends name srlgs medium bfd interval multiplier leaf1 spine1 h1 << x/y
"""
SCALAR_WORDS = r"""
    leaf1 leaf1:1 spine1:2 1 0 -1 0x1f 400G 1M 5ns ~ null on .nan .inf 12:30:45 10.0.0.1 ::1 a%b
    02:00:00:00:00:01 tcp:h:1 "a\nb" !x
"""
KEYS = st.sampled_from(KEY_WORDS.split())
SCALARS = st.sampled_from(SCALAR_WORDS.split())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.dictionaries(KEYS, inner, max_size=4).map(
            lambda d: "{" + ", ".join(f"{k}: {v}" for k, v in d.items()) + "}"
        ),
    ),
    max_leaves=12,
)


@few
@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_right_keys_with_any_values(sections: dict[str, str]) -> None:
    outcome("".join(f"{key}: {value}\n" for key, value in sections.items()).encode())


@few
@given(
    st.sampled_from([line for line in GOOD.splitlines() if ": " in line or "- [" in line]), VALUES
)
def test_one_value_replaced(line: str, value: str) -> None:
    key = line.partition(": ")[0] + ": " if ": " in line else "  - "
    outcome(GOOD.replace(line, key + value).encode())


BOMB = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n"
    for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)
HAND = {
    "empty": b"",
    "only a comment": b"# nothing\n",
    "null": b"~",
    "a word": b"hello",
    "a list": b"- a\n- b\n",
    "invalid UTF-8": b"fabric: x\nswitches: {a\xff: }\n",
    "UTF-16": "fabric: x".encode("utf-16"),
    "surrogate": b'a: "\\ud800"',
    "nul": b"\0" * 100,
    "ELF": b"\x7fELF\x02\x01\x01\0",
    "tab": b"\tfabric: x",
    "deep lists": b"[" * 1_000_000,
    "deep mappings": b"{a: " * 300_000,
    "deep blocks": b"- " * 100_000,
    "deep keys": b"? " * 100_000,
    "deep by aliases": b"a: &a [1]\n" + b"".join(b"a%d: &a [*a]\n" % i for i in range(5000)),
    "bomb": BOMB.encode(),
    "recursion": b"&a [*a]",
    "recursive mapping": b"&a {a: *a}",
    "many values": b"[" + b"a," * 600_000,
    "many duplicates": b"a: 1\n" * 100_000,
    "many unknown keys": b"".join(b"k%d: 1\n" % i for i in range(50_000)),
    "huge number": b"fabric: x\nswitches: {a: {dpid: " + b"9" * 1_000_000 + b"}}",
    "long word": b"fabric: " + b"a" * 1_000_000,
    "too large": b"#" * (17 << 20),
    "unfinished": b'fabric: "x',
    "directive": b"%YAML 9.9\n---\na: 1\n",
    "alias as key": b"a: &x b\n*x : c\n",
    "mapping as key": b"{a: b}: c\n",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("case", HAND)
def test_hand_made(case: str) -> None:
    found = outcome(HAND[case])
    assert 1 <= len(found) <= 1001
    assert all(len(problem) < 500 for problem in found)


def test_invalid_utf8_is_located() -> None:
    (found,) = outcome(HAND["invalid UTF-8"])
    assert found == "f.yaml:2:13: byte 0xff is not UTF-8: save it as UTF-8"


def test_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    assert outcome(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()) == []

"""A stored intent is read as what was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.intents.model import (
    Connectivity,
    IntentSpec,
    OnShortage,
    PointToPoint,
    Protection,
    Selector,
)
from controller.northbound.convert import etag_of, spec_from_message, spec_to_message
from heald.v1 import intents_pb2 as pb

WORDS = st.lists(st.text("ab/:é", max_size=4), max_size=3).map(tuple)
SELECTORS = st.builds(
    Selector,
    st.booleans(),
    WORDS,
    WORDS,
    WORDS,
    st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
)
SPECS: st.SearchStrategy[IntentSpec] = st.one_of(
    st.builds(Connectivity, SELECTORS),
    st.builds(
        PointToPoint,
        source=SELECTORS,
        destination=SELECTORS,
        rate_bps=st.floats(0, 1e15),
        traffic_class=st.text(max_size=4),
        max_latency_s=st.none() | st.floats(1e-9, 10),
        include=WORDS,
        avoid=WORDS,
        protection=st.sampled_from(Protection),
        bidirectional=st.booleans(),
        udp_source_ports=st.lists(st.integers(1, 65535), max_size=3).map(tuple),
        priority=st.integers(-(2**31), 2**31 - 1),
        on_shortage=st.sampled_from(OnShortage),
    ),
)


@given(SPECS, SPECS)
def test_messages_carry_all_of_a_spec(spec: IntentSpec, other: IntentSpec) -> None:
    message = pb.IntentSpec.FromString(spec_to_message(spec).SerializeToString())
    assert spec_from_message(message) == spec
    assert (etag_of({}, spec) == etag_of({}, other)) == (spec == other)

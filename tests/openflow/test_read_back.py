"""What was sent and what a switch describes are equal; what is not Heald's stays opaque."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.openflow import decode, encode
from controller.openflow.decode import DecodeError, MessageType, MultipartType
from controller.openflow.model import (
    Action,
    ApplyActions,
    Bucket,
    CopyField,
    Field,
    Flow,
    GotoTable,
    Group,
    GroupType,
    Instruction,
    Match,
    Meter,
    Metered,
    OpaqueFlow,
    OpaqueGroup,
    OpaqueMeter,
    Output,
    SetField,
    SetQueue,
    ToGroup,
    WriteMetadata,
)
from controller.openflow.ownership import COOKIE_PREFIX, GROUPS, METERS

OWN = COOKIE_PREFIX << 48
MATCHABLE = [f for f in Field if f.value[0] == 0x8000]

words = st.integers(0, 0xFFFFFFFF)


@st.composite
def values(draw: st.DrawFn, field: Field) -> tuple[int, int | None]:
    mask = draw(st.none() | st.integers(1, field.all_ones))
    if mask is None or mask == field.all_ones:
        return draw(st.integers(0, field.all_ones)), None
    return draw(st.integers(0, field.all_ones)) & mask, mask


@st.composite
def matches(draw: st.DrawFn) -> Match:
    given = {}
    for field in draw(st.sets(st.sampled_from(MATCHABLE), max_size=6)):
        value, mask = draw(values(field))
        given[field] = value if mask is None else (value, mask)
    return Match.of(given)


@st.composite
def set_fields(draw: st.DrawFn) -> SetField:
    field = draw(st.sampled_from(Field))
    return SetField(field, *draw(values(field)))


@st.composite
def copies(draw: st.DrawFn) -> CopyField:
    source, target = draw(st.sampled_from(Field)), draw(st.sampled_from(Field))
    bits = draw(st.integers(1, min(source.bits, target.bits)))
    return CopyField(
        source,
        target,
        bits,
        draw(st.integers(0, source.bits - bits)),
        draw(st.integers(0, target.bits - bits)),
    )


def action_lists(smallest: int) -> st.SearchStrategy[tuple[Action, ...]]:
    return st.lists(
        st.one_of(
            st.builds(Output, words, st.integers(0, 0xFFFF)),
            st.builds(ToGroup, words),
            st.builds(SetQueue, words),
            st.builds(Metered, words),
            set_fields(),
            copies(),
        ),
        min_size=smallest,
        max_size=5,
    ).map(tuple)


@st.composite
def instruction_lists(draw: st.DrawFn) -> tuple[Instruction, ...]:
    out: list[Instruction] = []
    if draw(st.booleans()):
        out.append(ApplyActions(draw(action_lists(1))))
    if draw(st.booleans()):
        mask = draw(st.integers(1, 2**64 - 1))
        out.append(WriteMetadata(draw(st.integers(0, 2**64 - 1)) & mask, mask))
    if draw(st.booleans()):
        out.append(GotoTable(draw(st.integers(0, 254))))
    return tuple(out)


flows = st.builds(
    Flow,
    table=st.integers(0, 254),
    priority=st.integers(0, 0xFFFF),
    match=matches(),
    instructions=instruction_lists(),
    cookie=st.integers(OWN, OWN | (1 << 48) - 1),
)


@st.composite
def groups(draw: st.DrawFn) -> Group:
    group_type = draw(st.sampled_from(GroupType))
    watches = words.filter(lambda number: number != 0xFFFFFFFF)
    buckets = []
    for _ in range(draw(st.integers(0, 4))):
        watch_port = draw(st.none() | watches)
        buckets.append(
            Bucket(
                draw(words),
                draw(action_lists(0)),
                draw(st.integers(0, 0xFFFF)) if group_type is GroupType.SELECT else 0,
                watch_port,
                draw(st.none() | watches) if watch_port is None else None,
            )
        )
    return Group(draw(st.integers(GROUPS[0], GROUPS[-1])), group_type, tuple(buckets))


meters = st.builds(Meter, st.integers(METERS[0], METERS[-1]), words, words)


def reply(kind: MultipartType, entries: Iterable[bytes], more: bool = False) -> bytes:
    body = struct.pack("!HH4x", kind, more) + b"".join(entries)
    return struct.pack("!BBHI", 6, MessageType.MULTIPART_REPLY, 8 + len(body), 0) + body


def flow_desc(flow: Flow, *, idle: int = 0, code: bytes | None = None) -> bytes:
    """As a switch describes it: an idle counter among the statistics, which nobody asked for."""
    match = encode.match_key(flow.match)
    if code is None:
        code = encode.flow_add(flow)[48 + len(match) :]
    stats = bytes.fromhex("0000000c 80020204 00000005 00000000")
    head = struct.pack(
        "!H2xBxHHHHHQ",
        24 + len(match) + len(stats) + len(code),
        flow.table,
        flow.priority,
        idle,
        0,
        0,
        0,
        flow.cookie,
    )
    return head + match + stats + code


def with_match(flow: Flow, match: str) -> bytes:
    """The description of a flow whose match is spelled otherwise."""
    spelled = bytes.fromhex(match)
    described = bytearray(flow_desc(flow).replace(encode.match_key(flow.match), spelled, 1))
    described[:2] = struct.pack("!H", len(described))
    return bytes(described)


def group_desc(group: Group) -> bytes:
    body = encode.group_add(group)[24:]
    properties = 40 if group.type is GroupType.SELECT else 0
    return (
        struct.pack("!HBxIH6x", 16 + len(body), group.type, group.id, len(body) - properties) + body
    )


def meter_desc(meter: Meter) -> bytes:
    message = encode.meter_add(meter)
    return struct.pack("!H", len(message) - 8) + message[10:]


@given(st.lists(flows, max_size=4))
def test_flows_read_back_as_they_were_sent(sent: list[Flow]) -> None:
    assert decode.flow_descs(reply(MultipartType.FLOW_DESC, map(flow_desc, sent))) == sent


@settings(max_examples=40)
@given(st.lists(groups(), max_size=3))
def test_groups_read_back_as_they_were_sent(sent: list[Group]) -> None:
    assert decode.group_descs(reply(MultipartType.GROUP_DESC, map(group_desc, sent))) == sent


@given(st.lists(meters, max_size=4))
def test_meters_read_back_as_they_were_sent(sent: list[Meter]) -> None:
    assert decode.meter_descs(reply(MultipartType.METER_DESC, map(meter_desc, sent))) == sent


@settings(max_examples=40)
@given(flows, st.randoms())
def test_order_of_fields_on_the_wire_does_not_matter(flow: Flow, random: object) -> None:
    tlvs = [encode.match_key(Match((f,)))[4:] for f in flow.match.fields]
    cut = [t[: 4 + t[3]] for t in tlvs]
    random.shuffle(cut)  # type: ignore[attr-defined]
    body = b"".join(cut)
    length = 4 + len(body)
    shuffled = struct.pack("!HH", 1, length) + body + bytes(-length % 8)
    described = with_match(flow, shuffled.hex())
    assert decode.flow_descs(reply(MultipartType.FLOW_DESC, [described])) == [flow]


def test_a_spelled_out_ethernet_packet_type_says_nothing() -> None:
    flow = Flow(0, 7, Match(), (GotoTable(1),), OWN)
    spelled = with_match(flow, "0001000c 80005804 00000000 00000000")
    assert decode.flow_descs(reply(MultipartType.FLOW_DESC, [spelled])) == [flow]


def test_bits_outside_a_mask_and_empty_masks_say_nothing() -> None:
    flow = Flow(0, 7, Match.of({Field.IPV4_DST: (0x0A000000, 0xFF000000)}), (), OWN)
    spelled = "0001001c 80001908 0a0b0c0d ff000000 80001708 01020304 00000000 00000000"
    got = decode.flow_descs(reply(MultipartType.FLOW_DESC, [with_match(flow, spelled)]))
    assert got == [flow]


def test_a_field_that_is_matched_twice_is_no_match_of_heald() -> None:
    flow = Flow(0, 7, Match.of({Field.ETH_TYPE: 0x0800}), (), OWN)
    twice = "00010010 80000a02 0800 80000a02 86dd"
    (got,) = decode.flow_descs(reply(MultipartType.FLOW_DESC, [with_match(flow, twice)]))
    assert isinstance(got, OpaqueFlow)
    assert got.match_key == bytes.fromhex(twice)


@settings(max_examples=50)
@given(flows, st.integers(0, 2**64 - 1).filter(lambda c: c >> 48 != COOKIE_PREFIX))
def test_flows_of_others_are_opaque_and_keep_their_key(flow: Flow, cookie: int) -> None:
    described = bytearray(flow_desc(flow))
    described[16:24] = struct.pack("!Q", cookie)
    (got,) = decode.flow_descs(reply(MultipartType.FLOW_DESC, [bytes(described)]))
    assert got == OpaqueFlow(
        flow.table, flow.priority, encode.match_key(flow.match), cookie, bytes(described)
    )


LEARN = bytes.fromhex("00040018 00000000 ffff0010 00002320 0010 0000 0000 0000")
UNKNOWN_INSTRUCTION = bytes.fromhex("ffff0008 00002320")


@pytest.mark.parametrize("code", [LEARN, UNKNOWN_INSTRUCTION])
def test_an_own_flow_with_foreign_instructions_keeps_its_key(code: bytes) -> None:
    flow = Flow(3, 9, Match.of({Field.ETH_TYPE: 0x800}), (), OWN)
    (got,) = decode.flow_descs(reply(MultipartType.FLOW_DESC, [flow_desc(flow, code=code)]))
    assert isinstance(got, OpaqueFlow)
    assert (got.table, got.priority, got.match_key) == (3, 9, encode.flow_key(flow).match_key)
    assert encode.flow_delete(got) == encode.flow_delete(flow)


def test_an_own_flow_that_would_expire_is_not_what_was_sent() -> None:
    flow = Flow(3, 9, Match(), (), OWN)
    (got,) = decode.flow_descs(reply(MultipartType.FLOW_DESC, [flow_desc(flow, idle=30)]))
    assert isinstance(got, OpaqueFlow)


def test_an_unknown_field_leaves_the_match_as_the_switch_sent_it() -> None:
    flow = Flow(3, 9, Match(), (), OWN)
    conj_id = "0001000c 00014a04 00000003 00000000"
    (got,) = decode.flow_descs(reply(MultipartType.FLOW_DESC, [with_match(flow, conj_id)]))
    assert isinstance(got, OpaqueFlow)
    assert got.match_key == bytes.fromhex(conj_id)
    assert encode.flow_delete(got).endswith(got.match_key)


@settings(max_examples=30)
@given(groups())
def test_groups_of_others_are_opaque(group: Group) -> None:
    other = Group(GROUPS.stop, group.type, group.buckets)
    raw = group_desc(other)
    got = decode.group_descs(reply(MultipartType.GROUP_DESC, [raw]))
    assert got == [OpaqueGroup(GROUPS.stop, raw)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (b"dp_hash", b"hash\0\0\0"),  # another selection method
        (encode.DP_HASH, encode.DP_HASH[:-1] + b"\1"),  # another parameter
        (bytes.fromhex("0000 0010 0000 0001"), bytes.fromhex("002a 0010 0000 0001")),  # action 42
    ],
)
def test_an_own_group_that_hashes_or_acts_otherwise_is_opaque(ours: bytes, theirs: bytes) -> None:
    group = Group(GROUPS[5], GroupType.SELECT, (Bucket(0, (Output(1),), 1, 1),))
    raw = group_desc(group).replace(ours, theirs, 1)
    assert raw != group_desc(group)
    got = decode.group_descs(reply(MultipartType.GROUP_DESC, [raw]))
    assert got == [OpaqueGroup(GROUPS[5], raw)]


def test_a_meter_in_kilobits_or_of_others_is_opaque() -> None:
    own = meter_desc(Meter(METERS[0], 10, 5))
    kilobits = own[:3] + b"\x05" + own[4:]
    other = meter_desc(Meter(METERS.stop, 10, 5))
    assert decode.meter_descs(reply(MultipartType.METER_DESC, [kilobits, other])) == [
        OpaqueMeter(METERS[0], kilobits),
        OpaqueMeter(METERS.stop, other),
    ]


def test_parts_of_a_reply_say_whether_more_follow() -> None:
    assert decode.multipart(reply(MultipartType.FLOW_DESC, [], more=True)) == (1, True)
    assert decode.multipart(reply(MultipartType.FLOW_DESC, [])) == (1, False)


FLOW = Flow(
    3,
    9,
    Match.of({Field.ETH_TYPE: 0x800}),
    (ApplyActions((SetField(Field.ETH_DST, 1), ToGroup(5))), GotoTable(4)),
    OWN,
)
GROUP = Group(GROUPS[5], GroupType.SELECT, (Bucket(0, (Output(1),), 1, 1),))
LENGTHS = [
    # (description, decoder, offset of a nested 16-bit length within the message, what it is)
    (reply(MultipartType.FLOW_DESC, [flow_desc(FLOW)]), decode.flow_descs, 16, "flow entry"),
    (reply(MultipartType.FLOW_DESC, [flow_desc(FLOW)]), decode.flow_descs, 42, "match length"),
    (reply(MultipartType.FLOW_DESC, [flow_desc(FLOW)]), decode.flow_descs, 58, "statistics"),
    (reply(MultipartType.FLOW_DESC, [flow_desc(FLOW)]), decode.flow_descs, 74, "instruction"),
    (reply(MultipartType.FLOW_DESC, [flow_desc(FLOW)]), decode.flow_descs, 82, "action"),
    (reply(MultipartType.GROUP_DESC, [group_desc(GROUP)]), decode.group_descs, 16, "group entry"),
    (reply(MultipartType.GROUP_DESC, [group_desc(GROUP)]), decode.group_descs, 32, "bucket"),
    (reply(MultipartType.GROUP_DESC, [group_desc(GROUP)]), decode.group_descs, 42, "action"),
    (reply(MultipartType.GROUP_DESC, [group_desc(GROUP)]), decode.group_descs, 58, "property"),
    (reply(MultipartType.GROUP_DESC, [group_desc(GROUP)]), decode.group_descs, 74, "property"),
    (
        reply(MultipartType.METER_DESC, [meter_desc(Meter(METERS[0], 1, 1))]),
        decode.meter_descs,
        26,
        "meter band",
    ),
]


@pytest.mark.parametrize("wrong", [0, 1, 0xFFFF])
@pytest.mark.parametrize(("message", "decoder", "at", "what"), LENGTHS)
def test_nested_lengths_of_zero_or_beyond_what_holds_them_are_refused(
    message: bytes, decoder: object, at: int, what: str, wrong: int
) -> None:
    decoder(message)  # type: ignore[operator]
    broken = message[:at] + struct.pack("!H", wrong) + message[at + 2 :]
    with pytest.raises(DecodeError, match=rf"{what}.*at offset \d+"):
        decoder(broken)  # type: ignore[operator]


@given(
    st.sampled_from([(m, d) for m, d, *_ in LENGTHS]),
    st.lists(st.tuples(st.integers(16, 120), st.integers(0, 255)), max_size=4),
    st.integers(0, 200),
)
@settings(max_examples=300)
def test_mutated_descriptions_raise_decode_errors_only(
    case: tuple[bytes, object], changes: list[tuple[int, int]], cut: int
) -> None:
    message, decoder = case
    mutated = bytearray(message)
    for at, value in changes:
        mutated[at % len(mutated)] = value
    del mutated[max(8, len(mutated) - cut) :]
    mutated[2:4] = struct.pack("!H", len(mutated))
    said = "at offset"
    try:
        decoder(bytes(mutated))  # type: ignore[operator]
    except DecodeError as problem:
        said = str(problem)
    assert "at offset" in said


def test_the_longest_reply_takes_milliseconds() -> None:
    described = flow_desc(Flow(0, 0, Match(), (), OWN))
    message = reply(MultipartType.FLOW_DESC, [described] * (65_000 // len(described)))
    before = time.process_time()
    assert len(decode.flow_descs(message)) > 1000
    assert time.process_time() - before < 1

"""Every message in every version: decoded as it was encoded, and nothing else accepted."""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.openflow import bodies, messages
from controller.openflow.codec import decode, encode
from controller.openflow.codes import ErrorCode
from controller.openflow.messages import FlowMod, GroupMod, MeterMod, PacketOut, RoleRequest
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    DecTtl,
    Field,
    GroupType,
    Match,
    Metered,
    Output,
    SetField,
    SetQueue,
    WriteActions,
)
from controller.openflow.wire import DecodeError
from tests.openflow import message_values

VERSIONS = (4, 5, 6)
STRATEGIES = {version: message_values.messages(version) for version in VERSIONS}
EVERY = [(v, c) for v in VERSIONS for c in STRATEGIES[v]]


@pytest.mark.parametrize(("version", "kind"), EVERY, ids=lambda x: getattr(x, "__name__", str(x)))
@settings(max_examples=10, suppress_health_check=list(HealthCheck), deadline=None)
@given(chosen=st.data(), xid=message_values.u32)
def test_what_is_encoded_is_decoded_equal(
    version: int, kind: type, chosen: st.DataObject, xid: int
) -> None:
    message = chosen.draw(STRATEGIES[version][kind])
    raw = encode(message, version, xid)
    assert decode(raw) == (xid, version, message)
    assert int.from_bytes(raw[2:4], "big") == len(raw)


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(chosen=st.data())
def test_a_message_with_some_bytes_changed_is_refused_or_canonical(chosen: st.DataObject) -> None:
    version, kind = chosen.draw(st.sampled_from(EVERY))
    raw = bytearray(encode(chosen.draw(STRATEGIES[version][kind]), version))
    for at in chosen.draw(st.lists(st.integers(4, max(len(raw) - 1, 4)), min_size=1, max_size=3)):
        if at < len(raw):
            raw[at] = chosen.draw(message_values.u8)
    message = refused_or_decoded(bytes(raw))
    if message is None:
        return
    canonical = encode(message, version)
    assert decode(canonical).message == message
    assert encode(decode(canonical).message, version) == canonical


@pytest.mark.parametrize(("version", "kind"), EVERY, ids=lambda x: getattr(x, "__name__", str(x)))
@settings(max_examples=2, suppress_health_check=list(HealthCheck), deadline=None)
@given(chosen=st.data())
def test_a_message_cut_anywhere_is_refused(version: int, kind: type, chosen: st.DataObject) -> None:
    """Or it is a shorter message: of fewer entries, or less data."""
    raw = encode(chosen.draw(STRATEGIES[version][kind]), version)
    for length in range(len(raw)):
        cut = raw[:2] + length.to_bytes(2, "big") + raw[4:length]
        message = refused_or_decoded(cut)
        if message is not None:
            assert len(encode(message, version)) <= len(raw)


def refused_or_decoded(raw: bytes) -> Any:
    try:
        return decode(raw).message
    except DecodeError as problem:
        said = str(problem)
    assert "at offset" in said
    return None


def test_every_class_of_message_is_tested() -> None:
    """A message is what no other dataclass holds and `encode` takes."""
    tested = {c for v in VERSIONS for c in STRATEGIES[v]}
    for module in (messages, bodies):
        for name, value in vars(module).items():
            if dataclasses.is_dataclass(value) and name.endswith(("Request", "Reply", "Mod")):
                assert value in tested, name


def body(version: int, kind: int, hexadecimal: str) -> bytes:
    octets = bytes.fromhex(hexadecimal)
    return bytes([version, kind]) + (8 + len(octets)).to_bytes(2, "big") + bytes(4) + octets


FLOW_MOD = "00" * 24 + "ffffffff" * 3 + "00" * 4
EMPTY_MATCH = "0001000400000000"


def matching(fields: str) -> str:
    length = 4 + len(fields) // 2
    return FLOW_MOD + f"0001{length:04x}" + fields + "00" * (-length % 8)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (body(3, 5, ""), ErrorCode.BAD_REQUEST_BAD_VERSION),
        (body(6, 99, ""), ErrorCode.BAD_REQUEST_BAD_TYPE),
        (body(4, 33, "00" * 8), ErrorCode.BAD_REQUEST_BAD_TYPE),
        (body(6, 22, "00" * 8), ErrorCode.BAD_REQUEST_BAD_TYPE),
        (body(6, 5, "00"), ErrorCode.BAD_REQUEST_BAD_LEN),
        (body(6, 5, "")[:-1], None),
        (body(6, 18, "0063000000000000"), ErrorCode.BAD_REQUEST_BAD_MULTIPART),
        (body(6, 18, "0003000100000000"), ErrorCode.BAD_REQUEST_MULTIPART_BUFFER_OVERFLOW),
        (body(6, 14, FLOW_MOD + "0000000400000000"), ErrorCode.BAD_MATCH_BAD_TYPE),
        (body(6, 14, FLOW_MOD + "0001000c80000a02"), ErrorCode.BAD_MATCH_BAD_LEN),
        (body(6, 14, matching("80000504" + "00" * 4)), ErrorCode.BAD_MATCH_BAD_FIELD),
        (body(6, 14, matching("800018040a000001")), ErrorCode.BAD_MATCH_BAD_PREREQ),
        (body(6, 14, matching("800018040a00000180000a020800")), ErrorCode.BAD_MATCH_BAD_PREREQ),
        (body(6, 14, matching("80000a020800" * 2)), ErrorCode.BAD_MATCH_DUP_FIELD),
        (body(6, 14, matching("8000fe020800")), ErrorCode.BAD_MATCH_BAD_FIELD),
        (
            body(4, 14, matching("80000a02080080001401068000540200ff")),
            ErrorCode.BAD_MATCH_BAD_FIELD,
        ),
        (body(6, 14, matching("80000a0208008000100140")), ErrorCode.BAD_MATCH_BAD_VALUE),
        (
            body(6, 14, matching("8000070cffffffffffffff0000000000")),
            ErrorCode.BAD_MATCH_BAD_WILDCARDS,
        ),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "0063000800000000"),
            ErrorCode.BAD_INSTRUCTION_UNKNOWN_INST,
        ),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "0001000801000000" * 2),
            ErrorCode.BAD_INSTRUCTION_DUP_INST,
        ),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "0001000400000000"),
            ErrorCode.BAD_INSTRUCTION_BAD_LEN,
        ),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "00040010000000000063000800000000"),
            ErrorCode.BAD_ACTION_BAD_TYPE,
        ),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "00040010000000000000000800000001"),
            ErrorCode.BAD_ACTION_BAD_LEN,
        ),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "0004001000000000ffff000800001234"),
            ErrorCode.BAD_ACTION_BAD_EXPERIMENTER,
        ),
        (
            body(4, 14, FLOW_MOD + EMPTY_MATCH + "00040018000000000019001080000900" + "00" * 8),
            ErrorCode.BAD_MATCH_BAD_FIELD,
        ),
        (
            body(6, 29, "00000001000000010063001000000001" + "00" * 8),
            ErrorCode.METER_MOD_FAILED_BAD_BAND,
        ),
        (
            body(
                6,
                15,
                "000000000000000100000000ffffffffffff00280000154e0000000000000000000000000000000000000000000000000000000000000000",
            ),
            ErrorCode.BAD_PROPERTY_BAD_EXPERIMENTER,
        ),
        (
            body(6, 15, "000000000000000100080000ffffffff0007000000000000"),
            ErrorCode.GROUP_MOD_FAILED_BAD_BUCKET,
        ),
        (body(5, 34, "00000000000000000402000900000000"), ErrorCode.BUNDLE_FAILED_MSG_BAD_LEN),
        (body(5, 28, "0000000800000001" * 2), ErrorCode.BAD_PROPERTY_DUP_TYPE),
    ],
)
def test_a_refusal_says_what_a_switch_answers(raw: bytes, code: ErrorCode | None) -> None:
    with pytest.raises(DecodeError, match="at offset") as caught:
        decode(raw)
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("message", "version", "says"),
    [
        (FlowMod(0, 0, 0, Match(), importance=5), 4, "importance = 5: OpenFlow 1.3 has no place"),
        (RoleRequest(1, 2, short_id=3), 4, "short_id = 3: OpenFlow 1.3 has no place"),
        (FlowMod(0, 300, 0, Match()), 6, "FlowMod does not fit OpenFlow 1.5"),
        (PacketOut(Match(), ()), 4, "before OpenFlow 1.5 exactly IN_PORT"),
        (messages.RoleStatus(0, 0, 0), 4, "RoleStatus: no message of OpenFlow 1.3"),
        (bodies.QueueConfigRequest(1), 6, "QueueConfigRequest: no message of OpenFlow 1.5"),
        (
            FlowMod(0, 0, 0, Match(), (WriteActions((Metered(1),)),)),
            4,
            "no action of its own before OpenFlow 1.5",
        ),
        (FlowMod(0, 0, 0, Match.of({Field.TCP_FLAGS: 2})), 4, "TCP_FLAGS: a field of a later"),
        (messages.EchoRequest(bytes(65528)), 6, "holds at most 65535"),
        (
            messages.PortStatus(0, messages.PortDescription(1, 2, "x" * 16)),
            4,
            "does not fit 15 bytes",
        ),
    ],
)
def test_what_a_version_cannot_say_is_no_message(message: Any, version: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        encode(message, version)


GROUP = "0000010000000001"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (body(6, 14, matching("80000a020800")[:-2] + "01"), "match with padding"),
        (
            body(6, 14, FLOW_MOD + EMPTY_MATCH + "00040010000000000018000800000001"),
            "DecTtl: padding",
        ),
        (
            body(
                6, 14, FLOW_MOD + EMPTY_MATCH + "000400180000000000190010800010010500000000000001"
            ),
            "action with padding",
        ),
        (
            body(6, 15, GROUP + "00180000ffffffff0018000000000007" + "0000000800010000" * 2),
            "property of type 0 twice",
        ),
        (
            body(6, 15, GROUP + "00100000ffffffff00100000000000070000000800010001"),
            "padding that is not 0",
        ),
        (
            body(6, 19, "0006000000000000" + "0028000100000000" + "00" * 32),
            "GroupStats: padding",
        ),
        (body(4, 24, "0000000000000001" + "00" * 8), "RoleRequest: padding"),
        (body(6, 13, "ffffffff000000010001000400000000"), "PacketOut: padding"),
        (
            body(4, 19, "000d000000000000" + "00" * 16 + "61006200" + "00" * 44),
            "text that zero bytes do not end",
        ),
    ],
)
def test_padding_and_repetition_are_refused(raw: bytes, says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        decode(raw)


def test_what_means_the_same_is_decoded_equal() -> None:
    """Order of fields, masks of all ones or none, defaults spelled out."""
    spelled: list[tuple[str, dict[Field, int | tuple[int, int]]]] = [
        ("800006060000000000028000000400000001", {Field.IN_PORT: 1, Field.ETH_DST: 2}),
        ("8000010800000001ffffffff", {Field.IN_PORT: 1}),
        ("80000510" + "00" * 16, {}),
    ]
    for fields, expected in spelled:
        assert decode(body(6, 14, matching(fields))).message.match == Match.of(expected)
    group, after = "0000010000000001", "0000ffffffff"
    explicit = body(6, 15, f"{group}0010{after}00100000000000070000000800010000")
    default = body(6, 15, f"{group}0008{after}0008000000000007")
    group_mod = GroupMod(0, GroupType.SELECT, 1, (Bucket(7, (), 1),))
    assert decode(explicit).message == decode(default).message == group_mod


def test_before_1_5_a_meter_is_an_instruction_and_a_masked_field_a_register_load() -> None:
    label = SetField(Field.ETH_DST, 0x000100010000, 0x00FFFFFF0000)
    message = FlowMod(
        0, 0, 0, Match(), (ApplyActions((Metered(5), label, SetQueue(1), Output(2))),)
    )
    raw = encode(message, 4)
    assert raw[56:64].hex() == "0006000800000005"
    # Bits 16 to 39 of NXM_OF_ETH_DST.
    assert raw[72:96].hex() == "ffff00180000232000070417000002060000000000010001"
    assert decode(raw).message == message
    in_1_5 = encode(message, 6)
    assert in_1_5[64:72].hex() == "001d000800000005"


def densest() -> list[bytes]:
    """Messages as long as they can be, of the shortest entries."""
    table = bodies.TableFeatures(1, "", 0, 0, 0, 0)

    def features(kind: bodies.TableProperty, ids: tuple[int, ...]) -> bodies.TableFeaturesReply:
        feature = bodies.TableFeature(kind, ids)
        return bodies.TableFeaturesReply((dataclasses.replace(table, properties=(feature,)),))

    return [
        encode(message, 6)
        for message in (
            PacketOut(Match(), (DecTtl(),) * 8180),
            PacketOut(Match(), (SetField(Field.IP_ECN, 1),) * 4000),
            GroupMod(0, 0, 1, (Bucket(7, ()),) * 8180),
            GroupMod(0, 1, 1, (Bucket(7, ()),) * 4000),
            MeterMod(0, 0, 1, (messages.DropBand(1),) * 4000),
            features(bodies.TableProperty.NEXT_TABLES, (255,) * 65000),
            features(bodies.TableProperty.MATCH, (0x80000004,) * 16000),
            features(bodies.TableProperty.INSTRUCTIONS, (1000,) * 16000),
            messages.SetAsync(tuple(messages.AsyncMask(i, 1000) for i in range(8000))),
            messages.EchoRequest(bytes(65000)),
            bodies.TableDescReply((messages.TableDescription(1),) * 8000),
            bodies.TableStatsReply((bodies.TableStats(1, 2, 3, 4),) * 2700),
            bodies.GroupDescReply((bodies.GroupDesc(1, 0),) * 4000),
            bodies.FlowDescReply(
                (bodies.FlowDesc(0, 0, Match(), (), 0, messages.Counters()),) * 1600
            ),
        )
    ]


def test_decoding_costs_no_more_than_a_constant_times_the_length() -> None:
    for raw in densest():
        decode(raw)
        tracemalloc.start()
        decode(raw)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 32 * len(raw), (raw[:24].hex(), peak / len(raw))

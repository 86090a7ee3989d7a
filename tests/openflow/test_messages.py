"""Messages byte for byte, framing, and what a switch says of itself."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ryu.ofproto import ofproto_v1_5 as ofp
from ryu.ofproto import ofproto_v1_5_parser as ryu
from ryu.ofproto.ofproto_protocol import ProtocolDesc

from controller.openflow import decode, encode
from controller.openflow.decode import DecodeError, MessageType
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    CopyField,
    Field,
    Flow,
    GotoTable,
    Group,
    GroupType,
    Match,
    Meter,
    Metered,
    Output,
    Port,
    SetField,
    SetQueue,
    ToGroup,
    WriteMetadata,
)

DATAPATH = ProtocolDesc(version=ofp.OFP_VERSION)


def serialised(message: ryu.MsgBase) -> bytes:
    message.set_xid(0)
    message.serialize()
    return bytes(message.buf)


def test_a_flow_is_encoded_as_the_specification_says() -> None:
    ours = Flow(
        table=3,
        priority=200,
        match=Match.of(
            {
                Field.IN_PORT: 4,
                Field.ETH_DST: (0x0E0000000003, 0xFF000000FFFF),
                Field.ETH_TYPE: 0x86DD,
                Field.IPV6_DST: (0xFD << 120, ((1 << 64) - 1) << 64),
                Field.IPV6_FLABEL: 9,
            }
        ),
        instructions=(
            ApplyActions(
                (
                    Metered(0x20001),
                    SetField(Field.ETH_DST, 0x020000000001),
                    SetField(Field.ETH_SRC, 0x0E0001000000, 0x0FFFFF000000),
                    CopyField(Field.ETH_SRC, Field.ETH_DST, 24, 0, 24),
                    SetQueue(3),
                    ToGroup(0x48000001),
                    Output(7),
                )
            ),
            WriteMetadata(5, 0xFF),
            GotoTable(4),
        ),
        cookie=0x4845000000000001,
    )
    theirs = ryu.OFPFlowMod(
        DATAPATH,
        cookie=0x4845000000000001,
        table_id=3,
        priority=200,
        command=ofp.OFPFC_ADD,
        buffer_id=ofp.OFP_NO_BUFFER,
        out_port=ofp.OFPP_ANY,
        out_group=ofp.OFPG_ANY,
        match=ryu.OFPMatch(
            in_port=4,
            eth_dst=("0e:00:00:00:00:03", "ff:00:00:00:ff:ff"),
            eth_type=0x86DD,
            ipv6_dst=("fd00::", "ffff:ffff:ffff:ffff::"),
            ipv6_flabel=9,
        ),
        instructions=[
            ryu.OFPInstructionActions(
                ofp.OFPIT_APPLY_ACTIONS,
                [
                    ryu.OFPActionMeter(0x20001),
                    ryu.OFPActionSetField(eth_dst="02:00:00:00:00:01"),
                    ryu.OFPActionSetField(eth_src=("0e:00:01:00:00:00", "0f:ff:ff:00:00:00")),
                    ryu.OFPActionCopyField(
                        24,
                        0,
                        24,
                        [ryu.OFPOxmId("eth_src"), ryu.OFPOxmId("eth_dst")],
                    ),
                    ryu.OFPActionSetQueue(3),
                    ryu.OFPActionGroup(0x48000001),
                    ryu.OFPActionOutput(7, 0),
                ],
            ),
            ryu.OFPInstructionWriteMetadata(5, 0xFF),
            ryu.OFPInstructionGotoTable(4),
        ],
    )
    assert encode.flow_add(ours) == serialised(theirs)


def test_groups_are_encoded_as_the_specification_says() -> None:
    select = Group(
        0x48000001,
        GroupType.SELECT,
        (
            Bucket(0, (SetField(Field.ETH_DST, 1), Output(1)), 1, watch_port=1),
            Bucket(1, (ToGroup(5),), 3, watch_group=5),
        ),
    )
    buckets = [
        ryu.OFPBucket(
            bucket_id=0,
            actions=[
                ryu.OFPActionSetField(eth_dst="00:00:00:00:00:01"),
                ryu.OFPActionOutput(1, 0),
            ],
            properties=[
                ryu.OFPGroupBucketPropWeight(type_=ofp.OFPGBPT_WEIGHT, weight=1),
                ryu.OFPGroupBucketPropWatch(type_=ofp.OFPGBPT_WATCH_PORT, watch=1),
            ],
        ),
        ryu.OFPBucket(
            bucket_id=1,
            actions=[ryu.OFPActionGroup(5)],
            properties=[
                ryu.OFPGroupBucketPropWeight(type_=ofp.OFPGBPT_WEIGHT, weight=3),
                ryu.OFPGroupBucketPropWatch(type_=ofp.OFPGBPT_WATCH_GROUP, watch=5),
            ],
        ),
    ]
    dp_hash = ryu.OFPGroupPropExperimenter(
        type_=0xFFFF,
        experimenter=0x154D,
        exp_type=1,
        data=list(struct.unpack("!7I", struct.pack("!I16sQ", 0, b"dp_hash", 0))),
    )
    for ours, command in (
        (encode.group_add, ofp.OFPGC_ADD),
        (encode.group_modify, ofp.OFPGC_MODIFY),
    ):
        theirs = ryu.OFPGroupMod(
            DATAPATH,
            command=command,
            type_=ofp.OFPGT_SELECT,
            group_id=0x48000001,
            command_bucket_id=0xFFFFFFFF,
            buckets=buckets,
            properties=[dp_hash],
        )
        assert ours(select) == serialised(theirs)


def test_meters_are_encoded_as_the_specification_says() -> None:
    theirs = ryu.OFPMeterMod(
        DATAPATH,
        command=ofp.OFPMC_ADD,
        flags=ofp.OFPMF_PKTPS | ofp.OFPMF_BURST,
        meter_id=0x20001,
        bands=[ryu.OFPMeterBandDrop(rate=100, burst_size=20)],
    )
    assert encode.meter_add(Meter(0x20001, 100, 20)) == serialised(theirs)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (encode.echo_request(b"x"), ryu.OFPEchoRequest(DATAPATH, b"x")),
        (encode.features_request(), ryu.OFPFeaturesRequest(DATAPATH)),
        (encode.barrier_request(), ryu.OFPBarrierRequest(DATAPATH)),
        (encode.port_desc_request(), ryu.OFPPortDescStatsRequest(DATAPATH, 0, ofp.OFPP_ANY)),
        (encode.port_stats_request(), ryu.OFPPortStatsRequest(DATAPATH, 0, ofp.OFPP_ANY)),
        (encode.group_desc_request(), ryu.OFPGroupDescStatsRequest(DATAPATH, 0, ofp.OFPG_ALL)),
        (encode.group_stats_request(), ryu.OFPGroupStatsRequest(DATAPATH, 0, ofp.OFPG_ALL)),
        (encode.meter_desc_request(), ryu.OFPMeterDescStatsRequest(DATAPATH, 0, ofp.OFPM_ALL)),
        (encode.queue_stats_request(), ryu.OFPQueueStatsRequest(DATAPATH, 0)),
        (
            encode.flow_desc_request(),
            ryu.OFPFlowDescStatsRequest(DATAPATH, 0, match=ryu.OFPMatch()),
        ),
        (
            encode.packet_out(Port.CONTROLLER, 3, b"frame"),
            ryu.OFPPacketOut(
                DATAPATH,
                buffer_id=ofp.OFP_NO_BUFFER,
                match=ryu.OFPMatch(in_port=ofp.OFPP_CONTROLLER),
                actions=[ryu.OFPActionOutput(3, 0)],
                data=b"frame",
            ),
        ),
    ],
)
def test_requests_are_encoded_as_the_specification_says(ours: bytes, theirs: ryu.MsgBase) -> None:
    assert ours == serialised(theirs)


def test_a_delete_names_the_owner_so_that_no_other_entry_can_go() -> None:
    flow = Flow(3, 9, Match.of({Field.ETH_TYPE: 0x800}), (GotoTable(4),), 0x4845000000000001)
    cookie, mask, table, command = struct.unpack_from("!QQBB", encode.flow_delete(flow), 8)
    assert (cookie, mask) == (0x4845 << 48, 0xFFFF << 48)
    assert (table, command) == (3, ofp.OFPFC_DELETE_STRICT)


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        (Flow(0, 0, Match(), (ApplyActions(()),), 0), "without actions"),
        (Flow(0, 0, Match(), (GotoTable(1), WriteMetadata(1)), 0), "out of order"),
        (Flow(0, 0, Match(), (GotoTable(1), GotoTable(2)), 0), "out of order"),
        (Flow(0, 0, Match(), (WriteMetadata(2, 1),), 0), "metadata"),
        (Flow(0, 0, Match.of({Field.REG0: 1}), (), 0), "REG0 can be set"),
        (Flow(0, 0, Match(), (ApplyActions((SetField(Field.IP_DSCP, 64),)),), 0), "IP_DSCP"),
        (Flow(0, 0, Match(), (ApplyActions((SetField(Field.ETH_DST, 3, 1),)),), 0), "outside"),
        (
            Flow(0, 0, Match(), (ApplyActions((SetField(Field.IP_ECN, 3, 3),)),), 0),
            "full is None",
        ),
        (
            Flow(0, 0, Match(), (ApplyActions((CopyField(Field.ETH_DST, Field.REG0, 33),)),), 0),
            "copying 33 bits at 0 does not fit REG0",
        ),
    ],
)
def test_what_no_switch_gives_back_as_sent_is_refused(flow: Flow, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        encode.flow_add(flow)


def test_groups_that_no_switch_gives_back_as_sent_are_refused() -> None:
    failover = Group(0x48000001, GroupType.FAST_FAILOVER, (Bucket(0, (), weight=2),))
    with pytest.raises(ValueError, match=r"bucket 0 of group 0x48000001 has a weight"):
        encode.group_add(failover)
    twice = Group(0x48000001, GroupType.SELECT, (Bucket(0, (), 1, 1, 2),))
    with pytest.raises(ValueError, match="watches a port and a group"):
        encode.group_add(twice)
    many = Group(0x48000001, GroupType.SELECT, tuple(Bucket(i, (), 1) for i in range(5000)))
    with pytest.raises(ValueError, match="5000 buckets do not fit"):
        encode.group_add(many)


@given(st.lists(st.binary(max_size=40)), st.integers(0, 0xFFFFFFFF), st.data())
def test_a_stream_cut_anywhere_yields_the_same_messages(
    payloads: list[bytes], xid: int, data: st.DataObject
) -> None:
    sent = [encode.with_xid(encode.echo_request(p), xid) for p in payloads]
    stream = b"".join(sent)
    cut = data.draw(st.integers(0, len(stream)))
    first, rest = decode.split(stream[:cut])
    second, rest = decode.split(rest + stream[cut:])
    assert (first + second, rest) == (sent, b"")
    assert all(decode.header(m).xid == xid for m in sent)


def test_a_length_shorter_than_a_header_ends_the_stream() -> None:
    good = encode.barrier_request()
    with pytest.raises(DecodeError, match=r"message length 7 .* at offset 8"):
        decode.split(good + b"\x06\x14\x00\x07" + bytes(4))


def test_the_versions_of_a_hello() -> None:
    assert decode.hello_versions(encode.hello()) == {6}
    assert decode.hello_versions(bytes.fromhex("0400000800000001")) == {1, 2, 3, 4}
    both = bytes.fromhex("06000010 00000001 00010008 00000050")
    assert decode.hello_versions(both) == {4, 6}


def test_a_port_and_its_change() -> None:
    port = struct.pack("!IH2x6s2x16sII", 7, 72, b"\2\0\0\0\0\1", b"s1-eth7", 0, 4)
    port += struct.pack("!HH4xIIIIII", 0, 32, 0, 0, 0, 0, 10_000_000, 0)
    body = struct.pack("!B7x", 1) + port
    status = struct.pack("!BBHI", 6, MessageType.PORT_STATUS, 8 + len(body), 0) + body
    got = decode.port_status(status)
    assert got.deleted
    assert got.port == decode.PortDesc(7, 0x020000000001, "s1-eth7", 0, 4, 10_000_000_000)
    assert got.port.live
    (listed,) = decode.port_descs(
        struct.pack("!BBHIHH4x", 6, MessageType.MULTIPART_REPLY, 16 + len(port), 0, 13, 0) + port
    )
    assert listed == got.port


@pytest.mark.parametrize(
    ("config", "state", "live"), [(0, 4, True), (1, 4, False), (0, 5, False), (0, 0, False)]
)
def test_a_port_is_live_when_up_at_both_ends(config: int, state: int, live: bool) -> None:
    assert decode.PortDesc(1, 0, "", config, state, 0).live is live


def test_a_packet_in_with_fields_that_are_not_known() -> None:
    fields = bytes.fromhex("00014a04 00000003 80000004 00000005")
    match = struct.pack("!HH", 1, 4 + len(fields)) + fields + bytes(4)
    body = struct.pack("!IHBBQ", 0xFFFFFFFF, 1500, 1, 2, 3) + match + bytes(2) + b"frame"
    message = struct.pack("!BBHI", 6, MessageType.PACKET_IN, 8 + len(body), 0) + body
    assert decode.packet_in(message) == decode.PacketIn(5, 2, 1, 3, 1500, b"frame")


def error_message(kind: int, code: int, data: bytes) -> bytes:
    body = struct.pack("!HH", kind, code) + data
    return struct.pack("!BBHI", 6, MessageType.ERROR, 8 + len(body), 9) + body


def test_an_error_names_what_failed_and_which_request() -> None:
    request = encode.with_xid(encode.group_delete(0x48000001), 0xABC)
    got = decode.error(error_message(6, 8, request))
    assert (got.xid, got.data) == (0xABC, request)
    assert got.name == "GROUP_MOD_FAILED 6/8: no such group"


def test_errors_of_open_vswitch_and_unknown_ones() -> None:
    nicira = decode.error(error_message(0xFFFF, 12, struct.pack("!I", 0x2320)))
    assert (nicira.name, nicira.xid) == ("Open vSwitch 12: hardware error", 9)
    assert decode.error(error_message(77, 1, b"")).name == "error 77/1"
    other = decode.error(error_message(0xFFFF, 12, struct.pack("!I", 0x1234)))
    assert other.name == "experimenter 0x1234 12"


def test_a_features_reply() -> None:
    body = struct.pack("!QIBB2xII", 0x1122, 0, 254, 0, 0x4F, 0)
    message = struct.pack("!BBHI", 6, MessageType.FEATURES_REPLY, 8 + len(body), 0) + body
    assert decode.features_reply(message) == decode.FeaturesReply(0x1122, 254, 0, 0x4F)

"""The bytes of Ryu's serialisers, where those are right, in OpenFlow 1.3 and 1.5."""

from __future__ import annotations

from typing import Any

import pytest
from ryu.ofproto import ofproto_v1_3, ofproto_v1_3_parser, ofproto_v1_5, ofproto_v1_5_parser
from ryu.ofproto.ofproto_protocol import ProtocolDesc

from controller.openflow import bodies as b
from controller.openflow import messages as m
from controller.openflow.codec import decode, encode
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    ClearActions,
    DecTtl,
    Field,
    GotoTable,
    GroupType,
    Match,
    Metered,
    Output,
    PopVlan,
    Port,
    PushVlan,
    SetField,
    SetQueue,
    SetTtl,
    ToGroup,
    WriteActions,
    WriteMetadata,
)

PARSERS = {4: ofproto_v1_3_parser, 6: ofproto_v1_5_parser}
CONSTANTS = {4: ofproto_v1_3, 6: ofproto_v1_5}
DATAPATHS = {v: ProtocolDesc(version=v) for v in PARSERS}


def flow_mod(p: Any, d: Any, of: Any) -> Any:
    actions = [
        p.OFPActionPushVlan(0x8100),
        p.OFPActionSetField(vlan_vid=0x1005),
        p.OFPActionPopVlan(),
        p.OFPActionDecNwTtl(),
        p.OFPActionSetNwTtl(7),
        p.OFPActionSetQueue(3),
        p.OFPActionGroup(9),
        p.OFPActionOutput(4, 128),
    ]
    metered = [p.OFPActionMeter(5)] if of.OFP_VERSION == 6 else []
    instructions = [] if metered else [p.OFPInstructionMeter(5)]
    instructions += [
        p.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, metered + actions),
        p.OFPInstructionActions(of.OFPIT_CLEAR_ACTIONS, []),
        p.OFPInstructionActions(of.OFPIT_WRITE_ACTIONS, [p.OFPActionOutput(2, 0)]),
        p.OFPInstructionWriteMetadata(5, 0xFF),
        p.OFPInstructionGotoTable(8),
    ]
    later = {"importance": 3} if of.OFP_VERSION == 6 else {}
    return p.OFPFlowMod(
        d, 1, 2, 3, of.OFPFC_MODIFY, 4, 5, 6, 7, 8, 9, 1,
        match=p.OFPMatch(
            in_port=4,
            metadata=(5, 0xFF),
            eth_dst=("0e:00:00:00:00:03", "ff:00:00:00:ff:ff"),
            eth_type=0x0800,
            vlan_vid=0x1005,
            ip_dscp=26,
            ip_proto=6,
            ipv4_dst=("10.0.0.0", "255.0.0.0"),
            tcp_dst=80,
        ),
        instructions=instructions,
        **later,
    )  # fmt: skip


def our_flow_mod(version: int) -> m.FlowMod:
    return m.FlowMod(
        m.FlowCommand.MODIFY,
        3,
        6,
        Match.of(
            {
                Field.IN_PORT: 4,
                Field.METADATA: (5, 0xFF),
                Field.ETH_DST: (0x0E0000000003, 0xFF000000FFFF),
                Field.ETH_TYPE: 0x0800,
                Field.VLAN_VID: 0x1005,
                Field.IP_DSCP: 26,
                Field.IP_PROTO: 6,
                Field.IPV4_DST: (0x0A000000, 0xFF000000),
                Field.TCP_DST: 80,
            }
        ),
        (
            ApplyActions(
                (
                    Metered(5),
                    PushVlan(0x8100),
                    SetField(Field.VLAN_VID, 0x1005),
                    PopVlan(),
                    DecTtl(),
                    SetTtl(7),
                    SetQueue(3),
                    ToGroup(9),
                    Output(4, 128),
                )
            ),
            ClearActions(),
            WriteActions((Output(2),)),
            WriteMetadata(5, 0xFF),
            GotoTable(8),
        ),
        cookie=1,
        cookie_mask=2,
        idle_timeout=4,
        hard_timeout=5,
        buffer_id=7,
        out_port=8,
        out_group=9,
        flags=1,
        importance=3 if version == 6 else 0,
    )


def group_mod(p: Any, d: Any, of: Any) -> Any:
    output = [p.OFPActionOutput(4, 0)]
    if of.OFP_VERSION == 4:
        buckets = [p.OFPBucket(3, 4, of.OFPG_ANY, output), p.OFPBucket(1, of.OFPP_ANY, 9, output)]
        return p.OFPGroupMod(d, of.OFPGC_MODIFY, of.OFPGT_SELECT, 5, buckets)
    weight = p.OFPGroupBucketPropWeight
    buckets = [
        p.OFPBucket(
            0,
            output,
            [
                weight(type_=0, weight=3),
                p.OFPGroupBucketPropWatch(type_=of.OFPGBPT_WATCH_PORT, watch=4),
            ],
        ),
        p.OFPBucket(
            1,
            output,
            [
                weight(type_=0, weight=1),
                p.OFPGroupBucketPropWatch(type_=of.OFPGBPT_WATCH_GROUP, watch=9),
            ],
        ),
    ]
    return p.OFPGroupMod(d, of.OFPGC_MODIFY, of.OFPGT_SELECT, 5, of.OFPG_BUCKET_ALL, buckets, [])


def packet_out(p: Any, d: Any, of: Any) -> Any:
    where = {"in_port": 3} if of.OFP_VERSION == 4 else {"match": p.OFPMatch(in_port=3)}
    return p.OFPPacketOut(
        d, buffer_id=of.OFP_NO_BUFFER, actions=[p.OFPActionOutput(4, 0)], data=b"abc", **where
    )


EQUAL: list[tuple[str, Any, Any]] = [
    ("flow mod", our_flow_mod, flow_mod),
    (
        "group mod",
        lambda _: m.GroupMod(
            m.GroupCommand.MODIFY,
            GroupType.SELECT,
            5,
            (Bucket(0, (Output(4),), 3, 4), Bucket(1, (Output(4),), 1, None, 9)),
        ),
        group_mod,
    ),
    (
        "packet out",
        lambda _: m.PacketOut(Match.of({Field.IN_PORT: 3}), (Output(4),), b"abc"),
        packet_out,
    ),
    (
        "meter mod",
        lambda _: m.MeterMod(0, 13, 7, (m.DropBand(100, 20), m.RemarkBand(50, 5, 1))),
        lambda p, d, of: p.OFPMeterMod(
            d, 0, 13, 7, [p.OFPMeterBandDrop(100, 20), p.OFPMeterBandDscpRemark(50, 5, 1)]
        ),
    ),
    ("features", lambda _: m.FeaturesRequest(), lambda p, d, of: p.OFPFeaturesRequest(d)),
    ("barrier", lambda _: m.BarrierRequest(), lambda p, d, of: p.OFPBarrierRequest(d)),
    ("echo", lambda _: m.EchoRequest(b"x"), lambda p, d, of: p.OFPEchoRequest(d, b"x")),
    (
        "config",
        lambda _: m.SetConfig(0, 128),
        lambda p, d, of: p.OFPSetConfig(d, 0, 128),
    ),
    (
        "port mod",
        lambda _: m.PortMod(3, 0x0A0000000001, 1, 1, 0x20),
        lambda p, d, of: p.OFPPortMod(
            d,
            3,
            "0a:00:00:00:00:01",
            1,
            1,
            *(
                [0x20]
                if of.OFP_VERSION == 4
                else [[p.OFPPortModPropEthernet(of.OFPPMPT_ETHERNET, advertise=0x20)]]
            ),
        ),
    ),
    (
        "role",
        lambda _: m.RoleRequest(m.Role.PRIMARY, 9),
        lambda p, d, of: p.OFPRoleRequest(
            d,
            2,
            **(
                {"generation_id": 9} if of.OFP_VERSION == 4 else {"short_id": 0, "generation_id": 9}
            ),
        ),
    ),
    (
        "flow description",
        lambda _: b.FlowDescRequest(match=Match.of({Field.ETH_TYPE: 0x0806})),
        lambda p, d, of: (
            p.OFPFlowStatsRequest if of.OFP_VERSION == 4 else p.OFPFlowDescStatsRequest
        )(d, 0, match=p.OFPMatch(eth_type=0x0806)),
    ),
    (
        "aggregate",
        lambda _: b.AggregateRequest(1, 2, 3, 4, 5),
        lambda p, d, of: p.OFPAggregateStatsRequest(d, 0, 1, 2, 3, 4, 5, p.OFPMatch()),
    ),
    ("description", lambda _: b.DescRequest(), lambda p, d, of: p.OFPDescStatsRequest(d, 0)),
    ("tables", lambda _: b.TableStatsRequest(), lambda p, d, of: p.OFPTableStatsRequest(d, 0)),
    (
        "port statistics",
        lambda _: b.PortStatsRequest(),
        lambda p, d, of: p.OFPPortStatsRequest(d, 0, Port.ANY),
    ),
    (
        "queue statistics",
        lambda _: b.QueueStatsRequest(3, 4),
        lambda p, d, of: p.OFPQueueStatsRequest(d, 0, 3, 4),
    ),
    (
        "group statistics",
        lambda _: b.GroupStatsRequest(),
        lambda p, d, of: p.OFPGroupStatsRequest(d, 0, of.OFPG_ALL),
    ),
    (
        "group description",
        lambda _: b.GroupDescRequest(),
        lambda p, d, of: p.OFPGroupDescStatsRequest(
            d, 0, *([of.OFPG_ALL] if of.OFP_VERSION == 6 else [])
        ),
    ),
    (
        "meter statistics",
        lambda _: b.MeterStatsRequest(),
        lambda p, d, of: p.OFPMeterStatsRequest(d, 0, of.OFPM_ALL),
    ),
    (
        "port description",
        lambda _: b.PortDescRequest(),
        lambda p, d, of: p.OFPPortDescStatsRequest(
            d, 0, *([of.OFPP_ANY] if of.OFP_VERSION == 6 else [])
        ),
    ),
]


@pytest.mark.parametrize("version", PARSERS)
@pytest.mark.parametrize(("ours", "theirs"), [e[1:] for e in EQUAL], ids=[e[0] for e in EQUAL])
def test_the_same_bytes(version: int, ours: Any, theirs: Any) -> None:
    message = theirs(PARSERS[version], DATAPATHS[version], CONSTANTS[version])
    message.set_xid(7)
    message.serialize()
    assert encode(ours(version), version, 7).hex() == bytes(message.buf).hex()
    assert decode(bytes(message.buf)) == (7, version, ours(version))


def test_1_3_replies_are_read_by_ryu_as_they_were_meant() -> None:
    """Switch to controller; Ryu's parsers of 1.5 are not to be trusted with these."""
    p, d = ofproto_v1_3_parser, DATAPATHS[4]

    def parsed(message: Any) -> Any:
        raw = encode(message, 4, 7)
        kind = raw[1]
        parser = p._MSG_PARSERS[kind]
        return parser(d, raw[0], kind, len(raw), 7, raw)

    features = parsed(m.FeaturesReply(0x11, 256, 254, 0, 0x4F))
    assert (features.datapath_id, features.n_tables, features.capabilities) == (0x11, 254, 0x4F)
    arrived = parsed(m.PacketIn(60, 1, 2, 3, Match.of({Field.IN_PORT: 9}), b"abc"))
    assert (arrived.match["in_port"], arrived.data, arrived.cookie) == (9, b"abc", 3)
    counters = m.Counters(m.Duration(1, 2), packets=3, bytes=4)
    (flow,) = parsed(
        b.FlowDescReply(
            (b.FlowDesc(1, 2, our_flow_mod(4).match, our_flow_mod(4).instructions, 5, counters),)
        )
    ).body
    assert (flow.table_id, flow.priority, flow.packet_count, flow.byte_count) == (1, 2, 3, 4)
    assert flow.match["tcp_dst"] == 80 and len(flow.instructions) == 6
    port = m.PortDescription(3, 0x0A0000000001, "p3", 0, 4, m.Ethernet(current_speed_kbps=100))
    (seen,) = parsed(b.PortDescReply((port,))).body
    assert (seen.port_no, seen.name, seen.curr_speed) == (3, b"p3", 100)
    removed = parsed(m.FlowRemoved(1, 2, Match(), 3, 4, counters, 5, 6))
    assert (removed.reason, removed.duration_nsec, removed.hard_timeout) == (4, 2, 6)
    (group,) = parsed(b.GroupDescReply((b.GroupDesc(5, 1, (Bucket(0, (Output(4),), 3, 4),)),))).body
    assert (group.group_id, group.buckets[0].weight, group.buckets[0].watch_port) == (5, 3, 4)

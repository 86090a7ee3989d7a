"""Strategies for every message, for each version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from controller.openflow import bodies as b
from controller.openflow import messages as m
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    ClearActions,
    CopyField,
    DecTtl,
    Field,
    GotoTable,
    Match,
    MatchField,
    Metered,
    Output,
    PopVlan,
    PushVlan,
    SetField,
    SetQueue,
    SetTtl,
    ToGroup,
    WriteActions,
    WriteMetadata,
)
from controller.openflow.prerequisites import may_follow

Values = st.SearchStrategy[Any]


def bits(width: int) -> Values:
    """The ends of the range as often as its middle."""
    full = (1 << width) - 1
    return st.sampled_from([0, 1, full]) | st.integers(0, full)


u8, u16, u32, u64, mac = bits(8), bits(16), bits(32), bits(64), bits(48)
data = st.binary(max_size=40)
not_all_ones = st.integers(0, 0xFFFFFFFE)
watched = st.none() | not_all_ones
durations = st.builds(m.Duration, u32, u32)


def tuples(element: Values, most: int = 3) -> Values:
    return st.lists(element, max_size=most).map(tuple)


def texts(size: int) -> Values:
    return st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=size // 4)


LATER = {
    4: {Field.PBB_UCA, Field.TCP_FLAGS, Field.ACTSET_OUTPUT},
    5: {Field.TCP_FLAGS, Field.ACTSET_OUTPUT},
}
BASIC = [f for f in Field if f.value[0] == 0x8000]
EXISTING = {
    Field.ETH_TYPE: [0x0800, 0x86DD, 0x0806, 0x8847, 0x88E7],
    Field.IP_PROTO: [1, 6, 17, 58, 132],
    Field.ICMPV6_TYPE: [135, 136],
    Field.VLAN_VID: [0, 0x1005],
}


@st.composite
def matches(draw: st.DrawFn, version: int) -> Match:
    """Fields that exist together."""
    wanted = draw(st.sets(st.sampled_from(BASIC), max_size=6))
    for field in (Field.ETH_TYPE, Field.IP_PROTO):
        if draw(st.booleans()):
            wanted.add(field)
    found: dict[Field, MatchField] = {}
    for field in sorted(wanted - LATER.get(version, set()), key=lambda f: f.value[1]):
        if not may_follow(field, found):
            continue
        if field in EXISTING:
            found[field] = MatchField(field, draw(st.sampled_from(EXISTING[field])))
            continue
        value = draw(bits(field.bits))
        mask = draw(st.none() | st.integers(1, field.all_ones - 1)) if field.bits > 1 else None
        found[field] = MatchField(field, value if mask is None else value & mask, mask)
    return Match(tuple(found.values()))


@st.composite
def set_fields(draw: st.DrawFn) -> SetField:
    field = draw(st.sampled_from(list(Field)))
    mask = None
    if field.bits > 1:
        neighbours = st.tuples(st.integers(0, field.bits - 1), st.integers(1, field.bits)).map(
            lambda run: ((1 << run[1]) - 1 << run[0]) & field.all_ones
        )
        mask = draw(st.none() | st.integers(1, field.all_ones - 1) | neighbours)
        mask = None if mask == field.all_ones else mask
    value = draw(bits(field.bits))
    return SetField(field, value if mask is None else value & mask, mask)


@st.composite
def copies(draw: st.DrawFn) -> CopyField:
    source, target = draw(st.tuples(*[st.sampled_from(list(Field))] * 2))
    count = draw(st.integers(1, min(source.bits, target.bits)))
    return CopyField(
        source,
        target,
        count,
        draw(st.integers(0, source.bits - count)),
        draw(st.integers(0, target.bits - count)),
    )


plain_actions = (
    st.builds(Output, u32, u16)
    | st.builds(ToGroup, u32)
    | st.builds(SetQueue, u32)
    | st.builds(SetTtl, u8)
    | st.builds(PushVlan, u16)
    | st.sampled_from([DecTtl(), PopVlan()])
    | set_fields()
    | copies()
)


def actions(version: int) -> Values:
    return tuples(plain_actions | st.builds(Metered, u32) if version == 6 else plain_actions)


@st.composite
def instructions(draw: st.DrawFn, version: int) -> tuple[Any, ...]:
    meter = draw(tuples(st.builds(Metered, u32), 1))
    out: list[Any] = []
    applied = (*meter, *draw(actions(version)))
    if applied:
        out.append(ApplyActions(applied))
    if draw(st.booleans()):
        out.append(ClearActions())
    written = draw(actions(version))
    if written:
        out.append(WriteActions(written))
    if draw(st.booleans()):
        mask = draw(st.integers(1, (1 << 64) - 1))
        out.append(WriteMetadata(draw(u64) & mask, mask))
    if draw(st.booleans()):
        out.append(GotoTable(draw(u8)))
    return tuple(out)


def counters(version: int, *said: str) -> Values:
    if version < 6:
        widths = {"duration": durations, "flows": u32, "packets": u64, "bytes": u64}
        return st.builds(m.Counters, **{name: widths[name] for name in said})
    return st.builds(
        m.Counters,
        *(st.none() | x for x in (durations, durations, u32, u64, u64)),
    )


@st.composite
def buckets(draw: st.DrawFn, version: int, kind: int) -> tuple[Bucket, ...]:
    count = draw(st.integers(0, 3))
    return tuple(
        Bucket(
            draw(u32) if version == 6 else i,
            draw(actions(version)),
            draw(u16),
            draw(watched),
            draw(watched),
        )
        for i in range(count)
    )


selections = st.builds(
    m.Selection,
    texts(16),
    u64,
    st.lists(st.sampled_from(BASIC), max_size=4, unique=True).flatmap(
        lambda fields: st.tuples(*[st.tuples(st.just(f), bits(f.bits)) for f in fields])
    ),
)


@st.composite
def groups(draw: st.DrawFn, /, version: int, make: Callable[..., Any], **also: Values) -> Any:
    kind = draw(st.integers(0, 4))
    return make(
        type=kind,
        group_id=draw(u32),
        buckets=draw(buckets(version, kind)),
        selection=draw(st.none() | selections) if version == 6 else None,
        **{name: draw(value) for name, value in also.items()},
    )


bands = tuples(st.builds(m.DropBand, u32, u32) | st.builds(m.RemarkBand, u32, u32, u8))
more = st.booleans()
ethernets = st.builds(m.Ethernet, u32, u32, u32, u32, u32, u32)
experimenters = tuples(st.builds(b.ExperimenterProperty, u32, u32, data), 2)


def ports(version: int) -> Values:
    speeds = ethernets if version == 4 else st.none() | ethernets
    return st.builds(m.PortDescription, u32, mac, texts(16), u32, u32, speeds)


def tables(make: Callable[..., Any], version: int) -> Values:
    if version == 4:
        return st.builds(make, u8, u32)
    return st.builds(make, u8, u32, st.none() | u32, st.none() | st.builds(m.Vacancy, u8, u8, u8))


def async_masks(version: int) -> Values:
    if version == 4:
        return st.tuples(*[u32] * 6).map(lambda v: tuple(map(m.AsyncMask, range(6), v)))
    return st.dictionaries(u16, u32, max_size=4).map(
        lambda d: tuple(m.AsyncMask(event, d[event]) for event in sorted(d))
    )


def requests_in_bundles(version: int) -> Values:
    return data.map(
        lambda d: bytes([version, 2]) + (8 + len(d)).to_bytes(2, "big") + b"\0\0\0\7" + d
    )


header_ids = st.integers(0, 0xFFFEFFFF) | st.integers(0xFFFF << 48, (1 << 64) - 1)


@st.composite
def table_features(draw: st.DrawFn, version: int) -> b.TableFeatures:
    P = b.TableProperty  # noqa: N806
    found = []
    for kind in draw(st.lists(st.sampled_from(list(P)), max_size=4)):
        if kind in (P.NEXT_TABLES, P.NEXT_TABLES_MISS, P.TABLE_SYNC_FROM):
            ids = u8
        elif kind < P.MATCH:
            ids = u16
        else:
            ids = header_ids
        found.append(b.TableFeature(kind, draw(tuples(ids, 5))))
    later = draw(st.tuples(u8, u32)) if version == 6 else (0, 0)
    return b.TableFeatures(
        draw(u8), draw(texts(32)), draw(u64), draw(u64), draw(u32), draw(u32), tuple(found), *later
    )


def messages(version: int) -> dict[type, Values]:
    """A strategy for each message that this version has."""
    match = matches(version)
    all_from_1_4 = version >= 5
    out: dict[type, Values] = {
        m.Hello: st.builds(
            m.Hello, st.none() | st.sets(st.integers(0, 31)).map(lambda v: tuple(sorted(v)))
        ),
        m.Error: st.builds(m.Error, st.integers(0, 0xFFFE), u16, data)
        | st.builds(m.Error, st.just(0xFFFF), u16, data, u32),
        m.EchoRequest: st.builds(m.EchoRequest, data),
        m.EchoReply: st.builds(m.EchoReply, data),
        m.Experimenter: st.builds(m.Experimenter, st.integers(0, 0x4F000000), u32, data),
        m.FeaturesReply: st.builds(m.FeaturesReply, u64, u32, u8, u8, u32, u32),
        m.GetConfigReply: st.builds(m.GetConfigReply, u16, u16),
        m.SetConfig: st.builds(m.SetConfig, u16, u16),
        m.GetAsyncReply: st.builds(m.GetAsyncReply, async_masks(version)),
        m.SetAsync: st.builds(m.SetAsync, async_masks(version)),
        m.PacketIn: st.builds(m.PacketIn, u16, u8, u8, u64, match, data, u32),
        m.PacketOut: st.builds(
            m.PacketOut,
            match if version == 6 else u32.map(lambda p: Match.of({Field.IN_PORT: p})),
            actions(version),
            data,
            u32,
        ),
        m.FlowMod: st.builds(
            m.FlowMod,
            u8,
            u8,
            u16,
            match,
            instructions(version),
            u64,
            u64,
            u16,
            u16,
            u16,
            u16 if all_from_1_4 else st.just(0),
            u32,
            u32,
            u32,
        ),
        m.FlowRemoved: st.builds(
            m.FlowRemoved,
            u8,
            u16,
            match,
            u64,
            u8,
            counters(version, "duration", "packets", "bytes"),
            u16,
            u16,
        ),
        m.GroupMod: groups(
            version,
            m.GroupMod,
            command=u16,
            command_bucket_id=u32 if version == 6 else st.just(0xFFFFFFFF),
        ),
        m.MeterMod: st.builds(m.MeterMod, u16, u16, u32, bands),
        m.PortStatus: st.builds(m.PortStatus, u8, ports(version)),
        m.PortMod: st.builds(m.PortMod, u32, mac, u32, u32, u32),
        m.TableMod: tables(m.TableMod, version),
        m.BundleControl: st.builds(m.BundleControl, u32, u16, u16),
        m.BundleAdd: st.builds(m.BundleAdd, u32, requests_in_bundles(version), u16),
        b.DescReply: st.builds(
            b.DescReply, texts(256), texts(256), texts(256), texts(32), texts(256), more
        ),
        b.FlowDescReply: st.builds(
            b.FlowDescReply,
            tuples(
                st.builds(
                    b.FlowDesc,
                    u8,
                    u16,
                    match,
                    instructions(version),
                    u64,
                    counters(version, "duration", "packets", "bytes"),
                    u16,
                    u16,
                    u16,
                    u16 if all_from_1_4 else st.just(0),
                ),
                2,
            ),
            more,
        ),
        b.AggregateReply: st.builds(
            b.AggregateReply, counters(version, "flows", "packets", "bytes"), more
        ),
        b.TableStatsReply: st.builds(
            b.TableStatsReply, tuples(st.builds(b.TableStats, u8, u32, u64, u64)), more
        ),
        b.PortStatsRequest: st.builds(b.PortStatsRequest, u32),
        b.PortStatsReply: st.builds(
            b.PortStatsReply,
            tuples(
                st.builds(
                    b.PortStats,
                    u32,
                    durations,
                    *[u64] * 8,
                    (st.just(None) if all_from_1_4 else st.nothing())
                    | st.builds(b.EthernetErrors, u64, u64, u64, u64),
                    experimenters if all_from_1_4 else st.just(()),
                ),
                2,
            ),
            more,
        ),
        b.QueueStatsRequest: st.builds(b.QueueStatsRequest, u32, u32),
        b.QueueStatsReply: st.builds(
            b.QueueStatsReply,
            tuples(
                st.builds(
                    b.QueueStats,
                    u32,
                    u32,
                    u64,
                    u64,
                    u64,
                    durations,
                    experimenters if all_from_1_4 else st.just(()),
                )
            ),
            more,
        ),
        b.PortDescReply: st.builds(b.PortDescReply, tuples(ports(version)), more),
        b.GroupStatsRequest: st.builds(b.GroupStatsRequest, u32),
        b.GroupStatsReply: st.builds(
            b.GroupStatsReply,
            tuples(
                st.builds(
                    b.GroupStats,
                    u32,
                    u32,
                    u64,
                    u64,
                    durations,
                    tuples(st.builds(b.BucketCounters, u64, u64)),
                )
            ),
            more,
        ),
        b.GroupDescReply: st.builds(
            b.GroupDescReply, tuples(groups(version, b.GroupDesc), 2), more
        ),
        b.GroupFeaturesReply: st.builds(
            b.GroupFeaturesReply,
            u32,
            u32,
            st.tuples(u32, u32, u32, u32),
            st.tuples(u32, u32, u32, u32),
            more,
        ),
        b.MeterStatsRequest: st.builds(b.MeterStatsRequest, u32),
        b.MeterStatsReply: st.builds(
            b.MeterStatsReply,
            tuples(
                st.builds(
                    b.MeterStats,
                    u32,
                    u32,
                    u64,
                    u64,
                    durations,
                    tuples(st.builds(b.BandCounters, u64, u64)),
                )
            ),
            more,
        ),
        b.MeterDescRequest: st.builds(b.MeterDescRequest, u32),
        b.MeterDescReply: st.builds(
            b.MeterDescReply, tuples(st.builds(b.MeterDesc, u32, u16, bands)), more
        ),
        b.MeterFeaturesReply: st.builds(
            b.MeterFeaturesReply,
            u32,
            u32,
            u32,
            u8,
            u8,
            st.none() | u32 if version == 6 else st.none(),
            more,
        ),
        b.TableFeaturesRequest: st.builds(
            b.TableFeaturesRequest, tuples(table_features(version), 2), more
        ),
        b.TableFeaturesReply: st.builds(
            b.TableFeaturesReply, tuples(table_features(version), 2), more
        ),
        b.PortDescRequest: st.builds(
            b.PortDescRequest, u32 if version == 6 else st.just(0xFFFFFFFF)
        ),
        b.GroupDescRequest: st.builds(
            b.GroupDescRequest, u32 if version == 6 else st.just(0xFFFFFFFC)
        ),
    }
    for role in (m.RoleRequest, m.RoleReply):
        out[role] = st.builds(role, u32, u64, u16 if version == 6 else st.just(0))
    selecting = [b.FlowDescRequest, b.AggregateRequest]
    if version == 6:
        selecting.append(b.FlowStatsRequest)
        out[b.FlowStatsReply] = st.builds(
            b.FlowStatsReply,
            tuples(st.builds(b.FlowStats, u8, u16, match, counters(version), u8)),
            more,
        )
    for request in selecting:
        out[request] = st.builds(request, u8, u32, u32, u64, u64, match)
    queue = tuples(st.builds(b.QueueDesc, u32, u32, st.none() | u16, st.none() | u16))
    if version == 4:
        out[b.QueueConfigRequest] = st.builds(b.QueueConfigRequest, u32)
        out[b.QueueConfigReply] = st.builds(b.QueueConfigReply, u32, queue)
    else:
        out[m.RoleStatus] = st.builds(m.RoleStatus, u32, u8, u64)
        out[m.TableStatus] = st.builds(m.TableStatus, u8, tables(m.TableDescription, version))
        out[b.TableDescReply] = st.builds(
            b.TableDescReply, tuples(tables(m.TableDescription, version)), more
        )
        out[b.TableDescRequest] = st.builds(b.TableDescRequest)
        out[b.QueueDescRequest] = st.builds(b.QueueDescRequest, u32, u32)
        out[b.QueueDescReply] = st.builds(b.QueueDescReply, queue, more)
    for empty in (
        m.FeaturesRequest,
        m.GetConfigRequest,
        m.BarrierRequest,
        m.BarrierReply,
        m.GetAsyncRequest,
        b.DescRequest,
        b.TableStatsRequest,
        b.GroupFeaturesRequest,
        b.MeterFeaturesRequest,
    ):
        out[empty] = st.builds(empty)
    return out

"""Every message that Open vSwitch sends, in OpenFlow 1.3, 1.4 and 1.5: decoded, and encoded again
to the same bytes; and every message that a controller sends, as Open vSwitch understands it."""

from __future__ import annotations

import dataclasses
import re
import socket
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest

from controller.fabric.model import Fabric, Host, Nic, PortRef, Switch, TrafficClass
from controller.lab.handle import Lab
from controller.openflow import bodies as b
from controller.openflow import messages as m
from controller.openflow.codec import Decoded, decode, encode
from controller.openflow.model import (
    ApplyActions,
    Bucket,
    ClearActions,
    CopyField,
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
from controller.openflow.refusals import refusal
from controller.openflow.wire import DecodeError, split
from mininet_tests.conftest import StartLab

VERSIONS = (4, 5, 6)
NAMES = {4: "OpenFlow13", 5: "OpenFlow14", 6: "OpenFlow15"}
ONE, TWO = 1, 2
GATEWAY = 0x0A00000000FE


@pytest.fixture(scope="module")
def lab(start_lab: StartLab) -> Lab:
    hosts = tuple(
        Host(
            f"h{i}",
            (Nic(f"h{i}", "eth0", 0x020000000000 + i, (ip_address(f"10.0.0.{i}"),), (port,), 1e8),),
        )
        for i, port in ((ONE, PortRef("s1", ONE)), (TWO, PortRef("s1", TWO)))
    )
    lab = start_lab(
        Fabric(
            "messages",
            (Switch("s1", 0x11, "leaf"),),
            hosts,
            (),
            (TrafficClass("default", None, 0), TrafficClass("storage", 26, 3)),
            GATEWAY,
            IPv4Address("10.255.255.254"),
            IPv6Address("fd00:ffff::1"),
        ),
        controller=None,
    )
    lab.vsctl("set", "bridge", lab.bridge("s1"), f"protocols={','.join(NAMES.values())}")
    return lab


class Connection:
    """A controller of one version. Whatever comes is decoded, and encoded again."""

    def __init__(self, lab: Lab, version: int) -> None:
        self.version = version
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(10)
        self._socket.connect(str(lab.run_dir / f"{lab.bridge('s1')}.mgmt"))
        self._rest = b""
        self._inbox: list[bytes] = []
        self._xid = 0
        self.send(m.Hello((version,)))
        assert self.receive().message == m.Hello(VERSIONS)

    def close(self) -> None:
        self._socket.close()

    def send(self, message: Any) -> int:
        self._xid += 1
        self._socket.sendall(encode(message, self.version, self._xid))
        return self._xid

    def receive(self) -> Decoded:
        while not self._inbox:
            data = self._socket.recv(65536)
            assert data, "the switch has closed the connection"
            self._inbox, self._rest = split(self._rest + data)
        raw = self._inbox.pop(0)
        decoded = decode(raw)
        again = encode(decoded.message, decoded.version, decoded.xid)
        assert decode(again) == decoded
        # Open vSwitch counts the flows of an aggregate last, the specification numbers them first.
        if not isinstance(decoded.message, b.AggregateReply):
            assert again.hex() == raw.hex(), decoded
        return decoded

    def ask(self, *messages: Any) -> list[Any]:
        """All that the switch says until it has done them."""
        for message in messages:
            self.send(message)
        barrier = self.send(m.BarrierRequest())
        out = []
        while (got := self.receive()).xid != barrier:
            out.append(got.message)
        assert got.message == m.BarrierReply()
        return out

    def change(self, *messages: Any) -> None:
        assert self.ask(*messages) == []

    def until(self, good: Callable[[Any], bool]) -> Any:
        while not good(message := self.receive().message):
            pass
        return message


@pytest.fixture(params=VERSIONS, ids=NAMES.get)
def connection(lab: Lab, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """To an empty switch."""
    for kind in ("flows", "groups", "meters"):
        lab.ovs_ofctl(f"del-{kind}", "s1")
    opened = Connection(lab, request.param)
    yield opened
    opened.close()


def of(**fields: int | tuple[int, int]) -> Match:
    return Match.of({Field[name.upper()]: value for name, value in fields.items()})


LABEL = SetField(Field.ETH_DST, 0x000100010000, 0x00FFFFFF0000)


def flow_mods(version: int) -> list[m.FlowMod]:
    def add(table: int, match: Match, *instructions: Any, **rest: int) -> m.FlowMod:
        return m.FlowMod(m.FlowCommand.ADD, table, 100 + table, match, instructions, **rest)

    return [
        add(
            0,
            of(in_port=ONE, eth_type=0x0800, ipv4_dst=(0x0A000000, 0xFF000000)),
            ApplyActions((Metered(1), LABEL, SetQueue(3), ToGroup(2))),
        ),
        add(1, of(vlan_vid=0x1005, vlan_pcp=3), ApplyActions((PopVlan(), Output(TWO)))),
        add(
            2,
            of(eth_type=0x86DD, ip_proto=17, udp_src=(1, 3)),
            ApplyActions(
                (PushVlan(0x8100), SetField(Field.VLAN_VID, 0x1006), Output(Port.CONTROLLER, 128))
            ),
        ),
        add(
            3,
            of(eth_type=0x0806, arp_op=1),
            ApplyActions(
                (
                    CopyField(Field.ETH_SRC, Field.ETH_DST, 48),
                    SetField(Field.ARP_OP, 2),
                    CopyField(Field.ARP_SHA, Field.REG0, 24, 8, 8),
                    SetField(Field.NXM_IN_PORT, 0xFFFF),
                    Output(Port.IN_PORT),
                )
            ),
        ),
        add(
            4,
            of(eth_dst=(0x0E0000000003, 0xFF000000FFFF)),
            WriteMetadata(7, 0xF0F),
            GotoTable(9),
        ),
        add(
            5,
            of(eth_type=0x0800, ip_proto=132, sctp_dst=9, ip_dscp=26, ip_ecn=1),
            ApplyActions((DecTtl(), SetTtl(9), SetField(Field.IP_DSCP, 8), Output(TWO))),
            idle_timeout=300,
            hard_timeout=500,
            cookie=0x4845 << 48,
            flags=1,
            importance=3 if version > 4 else 0,
        ),
        add(
            6,
            of(eth_type=0x86DD, ip_proto=58, icmpv6_type=135, ipv6_nd_target=1),
            ClearActions(),
            WriteActions((SetField(Field.IPV6_DST, 5), Output(ONE))),
        ),
        add(7, of(tunnel_id=5), ApplyActions((SetField(Field.TUNNEL_ID, 7), Output(ONE)))),
        add(8, of(metadata=(5, 0xFF))),
        add(9, of()),
    ]


def group_mods(version: int) -> list[m.GroupMod]:
    hashed = m.Selection("hash", 7, ((Field.IPV4_SRC, 0xFFFFFFFF), (Field.IPV4_DST, 0xFFFFFF00)))
    later = version == 6
    kinds = GroupType
    return [
        m.GroupMod(
            0,
            kinds.SELECT,
            1,
            (Bucket(0, (LABEL, Output(ONE)), 3, ONE), Bucket(1, (Output(TWO),), 0, TWO)),
            selection=m.Selection("dp_hash") if later else None,
        ),
        m.GroupMod(
            0,
            kinds.FAST_FAILOVER,
            2,
            (Bucket(0, (Output(TWO),), watch_port=TWO), Bucket(1, (ToGroup(1),), watch_group=1)),
        ),
        m.GroupMod(
            0, kinds.SELECT, 3, (Bucket(0, (Output(ONE),), 1),), selection=hashed if later else None
        ),
        m.GroupMod(0, kinds.INDIRECT, 4, (Bucket(0, (DecTtl(), Output(ONE))),)),
        m.GroupMod(0, kinds.ALL, 5, ()),
    ]


METER_MODS = [
    m.MeterMod(0, m.MeterFlag.PKTPS | m.MeterFlag.BURST, 1, (m.DropBand(100, 20),)),
    m.MeterMod(
        0, m.MeterFlag.KBPS | m.MeterFlag.STATS | m.MeterFlag.BURST, 2, (m.DropBand(9000, 90),)
    ),
]


def fill(connection: Connection) -> None:
    version = connection.version
    connection.change(*METER_MODS, *group_mods(version), *flow_mods(version))


def one(answers: list[Any], kind: type[Any]) -> Any:
    (answer,) = answers
    assert isinstance(answer, kind), answer
    return answer


def test_what_is_added_is_described_equal(connection: Connection) -> None:
    fill(connection)
    answer = one(connection.ask(b.FlowDescRequest()), b.FlowDescReply)
    got = sorted(answer.flows, key=lambda f: f.table)
    for flow, mod in zip(got, flow_mods(connection.version), strict=True):
        names = (
            "table",
            "priority",
            "match",
            "instructions",
            "cookie",
            "idle_timeout",
            "hard_timeout",
            "flags",
            "importance",
        )
        assert {n: getattr(flow, n) for n in names} == {n: getattr(mod, n) for n in names}
        assert flow.counters.packets == 0 and flow.counters.duration is not None
    described = one(connection.ask(b.GroupDescRequest()), b.GroupDescReply)
    assert sorted(described.groups, key=lambda g: g.group_id) == [
        b.GroupDesc(g.group_id, g.type, g.buckets, g.selection)
        for g in group_mods(connection.version)
    ]
    described = one(connection.ask(b.MeterDescRequest()), b.MeterDescReply)
    assert [(x.meter_id, x.bands) for x in described.meters] == [
        (x.meter_id, x.bands) for x in METER_MODS
    ]


def test_ovs_ofctl_shows_what_was_sent(lab: Lab, connection: Connection) -> None:
    fill(connection)
    flows = "\n".join(lab.flows("s1"))
    for text in (
        "in_port=1,nw_dst=10.0.0.0/8 actions=meter:1,set_field:00:01:00:01:00:00/00:ff:ff:ff:00:00",
        "dl_vlan=5,dl_vlan_pcp=3 actions=pop_vlan,output:2",
        "udp6,tp_src=0x1/0x3 actions=push_vlan:0x8100,set_field:4102->vlan_vid",
        "move:NXM_NX_ARP_SHA[8..31]->NXM_NX_REG0[8..31]",
        "actions=write_metadata:0x7/0xf0f,goto_table:9",
        "sctp,nw_tos=104,nw_ecn=1,tp_dst=9 actions=dec_ttl,mod_nw_ttl:9",
        "actions=clear_actions,write_actions(",
    ):
        assert text in flows, text
    groups = "\n".join(lab.groups("s1"))
    assert re.search(
        r"type=ff,bucket=bucket_id:0,watch_port:\S+,actions=output:\S+,bucket=", groups
    )
    if connection.version == 6:
        assert "selection_method=dp_hash" in groups
        assert (
            "selection_method=hash,selection_method_param=7,fields(ip_src,ip_dst=255.255.255.0)"
            in groups
        )


def requests(version: int) -> list[tuple[Any, type[Any]]]:
    out: list[tuple[Any, type[Any]]] = [
        (m.EchoRequest(b"abc"), m.EchoReply),
        (m.FeaturesRequest(), m.FeaturesReply),
        (m.GetConfigRequest(), m.GetConfigReply),
        (m.RoleRequest(m.Role.NOCHANGE), m.RoleReply),
        (m.GetAsyncRequest(), m.GetAsyncReply),
        (b.DescRequest(), b.DescReply),
        (b.FlowDescRequest(), b.FlowDescReply),
        (b.AggregateRequest(), b.AggregateReply),
        (b.TableStatsRequest(), b.TableStatsReply),
        (b.PortStatsRequest(), b.PortStatsReply),
        (b.QueueStatsRequest(), b.QueueStatsReply),
        (b.GroupStatsRequest(), b.GroupStatsReply),
        (b.GroupDescRequest(), b.GroupDescReply),
        (b.GroupFeaturesRequest(), b.GroupFeaturesReply),
        (b.MeterStatsRequest(), b.MeterStatsReply),
        (b.MeterDescRequest(), b.MeterDescReply),
        (b.MeterFeaturesRequest(), b.MeterFeaturesReply),
        (b.TableFeaturesRequest(), b.TableFeaturesReply),
        (b.PortDescRequest(), b.PortDescReply),
    ]
    if version == 4:
        out.append((b.QueueConfigRequest(ONE), b.QueueConfigReply))
    else:
        out.append((b.QueueDescRequest(), b.QueueDescReply))
        out.append((b.TableDescRequest(), b.TableDescReply))
    if version == 6:
        out.append((b.FlowStatsRequest(), m.Error))  # Open vSwitch does not know it.
    return out


def test_every_request_is_answered_in_canonical_bytes(connection: Connection) -> None:
    fill(connection)
    for request, kind in requests(connection.version):
        answers = connection.ask(request)
        assert answers and all(isinstance(a, kind) for a in answers), (request, answers)
        parts = [a.more for a in answers if hasattr(a, "more")]
        assert parts in ([], [True] * (len(answers) - 1) + [False])


def test_asynchronous_messages_are_decoded(lab: Lab, connection: Connection) -> None:
    version = connection.version
    # A connection to the management socket gets none unless it asks.
    connection.change(m.SetConfig(0, 0xFFFF))
    masks = tuple(m.AsyncMask(e, 0x3F) for e in range(6 if version == 4 else 10))
    connection.send(m.SetAsync(masks))
    packet = bytes(12) + b"\x88\xb5" + bytes(46)
    connection.send(m.PacketOut(of(in_port=ONE), (Output(Port.CONTROLLER, 0xFFFF),), packet))
    arrived = connection.until(lambda x: isinstance(x, m.PacketIn))
    assert (arrived.data, arrived.match, arrived.total_len) == (packet, of(in_port=ONE), 60)

    added = flow_mods(version)[5]
    connection.change(added)
    connection.send(m.FlowMod(m.FlowCommand.DELETE, added.table, 0, Match()))
    removed = connection.until(lambda x: isinstance(x, m.FlowRemoved))
    assert (removed.match, removed.cookie, removed.reason, removed.priority) == (
        added.match,
        added.cookie,
        m.RemovedReason.DELETE,
        added.priority,
    )

    for change, state in ((lab.port_down, m.PortState.LINK_DOWN), (lab.port_up, m.PortState(0))):
        change("s1", ONE)
        reached = False
        while not reached:
            told = connection.until(lambda x: isinstance(x, m.PortStatus))
            assert (told.reason, told.port.port) == (m.PortReason.MODIFY, ONE)
            reached = told.port.state & m.PortState.LINK_DOWN == state

    if version > 4:
        generation = 10 * version  # A switch remembers the newest.
        connection.send(m.RoleRequest(m.Role.PRIMARY, generation))
        connection.until(lambda x: isinstance(x, m.RoleReply))
        other = Connection(lab, version)
        other.send(m.RoleRequest(m.Role.PRIMARY, generation + 1))
        lost = connection.until(lambda x: isinstance(x, m.RoleStatus))
        other.close()
        assert (lost.role, lost.generation_id) == (m.Role.SECONDARY, generation + 1)


def test_a_port_is_modified(connection: Connection) -> None:
    def first() -> m.PortDescription:
        (reply,) = connection.ask(b.PortDescRequest())
        port: m.PortDescription = next(p for p in reply.ports if p.port == ONE)
        return port

    for config in (m.PortConfig.NO_FWD, m.PortConfig(0)):
        answers = connection.ask(m.PortMod(ONE, first().mac, config, m.PortConfig.NO_FWD))
        assert not any(isinstance(a, m.Error) for a in answers)
        assert first().config == config


def test_bundles(connection: Connection) -> None:
    version = connection.version
    flags = m.BundleFlag.ATOMIC | m.BundleFlag.ORDERED

    def control(command: int) -> None:
        (reply,) = connection.ask(m.BundleControl(1, command, flags))
        assert (reply.bundle_id, reply.command) == (1, command + 1)

    control(m.BundleCommand.OPEN_REQUEST)
    flow = flow_mods(version)[1]
    xid = connection._xid + 1
    connection.change(m.BundleAdd(1, encode(flow, version, xid), flags))
    assert connection.ask(b.FlowDescRequest()) == [b.FlowDescReply(())]
    control(m.BundleCommand.CLOSE_REQUEST)
    control(m.BundleCommand.COMMIT_REQUEST)
    (described,) = connection.ask(b.FlowDescRequest())
    assert [f.match for f in described.flows] == [flow.match]


def test_refusals_are_those_of_open_vswitch(connection: Connection) -> None:
    """What decoding refuses with a code, Open vSwitch refuses with the same."""
    version = connection.version
    wrong = [
        m.FlowMod(0, 0, 0, of(udp_dst=4791)),
        m.FlowMod(0, 0, 0, of(eth_type=0x0800, ip_proto=6, udp_dst=1)),
        m.FlowMod(0, 0, 0, of(vlan_pcp=3)),
        m.FlowMod(0, 0, 0, of(eth_type=0x86DD, ip_proto=58, ipv6_nd_sll=3)),
    ]
    raw = [encode(message, version) for message in wrong]
    good = encode(flow_mods(version)[0], version)
    head, match = good[:48], good[48:80]

    def with_match(fields: str) -> bytes:
        octets = bytes.fromhex(fields)
        length = 4 + len(octets)
        body = head + b"\0\1" + length.to_bytes(2, "big") + octets + bytes(-length % 8)
        return body[:2] + len(body).to_bytes(2, "big") + body[4:]

    def with_instructions(hexadecimal: str) -> bytes:
        body = head + bytes.fromhex("0001000400000000" + hexadecimal)
        return body[:2] + len(body).to_bytes(2, "big") + body[4:]

    assert len(match) == 32
    raw += map(
        with_match,
        (
            "80000a020800" * 2,
            "8000fe020800",
            "80000504" + "00" * 4,
            "80000a0208008000100140",
            "8000070cffffffffffffff0000000000",
            "800018040a000001" + "80000a020800",
        ),
    )
    raw += map(
        with_instructions,
        (
            "0063000800000000",
            "0001000801000000" * 2,
            "0004001000000000" + "0063000800000000",
            "0004001000000000" + "0000000800000001",
            "0004001000000000" + "ffff000800001234",
            "0001000400000000",
        ),
    )
    for message in raw:
        with pytest.raises(DecodeError) as caught:
            decode(message)
        connection._socket.sendall(message)
        (error,) = connection.ask()
        assert caught.value.code is not None, caught.value
        expected = refusal(caught.value.code, version, message[:64])
        assert dataclasses.replace(error, data=b"") == dataclasses.replace(expected, data=b"")
        assert error.data.startswith(expected.data)

"""Ryu's own conformance cases for OpenFlow 1.3 switches, against the emulated switch.

They are in Ryu's repository (``ryu/tests/switch/of13``) but not in what it installs:
``HEALD_RYU_CASES`` names the directory. Of a case, Ryu's parser and serialiser make the requests,
its packet library the frames. Cases of MPLS, PBB and IPv6 extension headers do not apply, where the
codec or Open vSwitch has no words for them; nor do cases of throughput, which need a generator.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from controller.emulator.personas import load
from controller.emulator.ports import PortEntry
from controller.emulator.switch import Connected, FrameReceived, Switch
from controller.openflow import messages as m
from controller.openflow.codec import encode
from tests.emulator.bench import heard

CASES = os.environ.get("HEALD_RYU_CASES")
RECEIVES, SENDS, SENDS_2 = 1, 2, 3
NAMES = {"target_recv_port": RECEIVES, "target_send_port_1": SENDS, "target_send_port_2": SENDS_2}
BEYOND_OPEN_VSWITCH = (
    "action/17_PUSH_VLAN_multiple",  # a second tag begins with id 0, not with that of the first
    "25_SET_FIELD/05_ETH_TYPE",
    "25_SET_FIELD/10_IP_PROTO",
    "25_SET_FIELD/17_SCTP_SRC",  # Ryu's own frames have wrong checksums
    "25_SET_FIELD/18_SCTP_DST",
    "meter/02_DSCP_REMARK",
)
OTHER = ("mpls", "pbb", "itag", "copy_ttl", "ipv6_exthdr")


def cases() -> list[Any]:
    found = []
    for path in sorted(Path(CASES).rglob("*.json")) if CASES else ():
        for number, case in enumerate(json.loads(path.read_text())):
            if isinstance(case, dict) and not any(word in str(case).lower() for word in OTHER):
                name = f"{path.parent.name}/{path.stem}"
                fails = pytest.mark.xfail(reason="Open vSwitch 3.1 does not pass it either")
                marks = [fails] if name.startswith(BEYOND_OPEN_VSWITCH) else []
                found.append(pytest.param(case, id=f"{name}-{number}", marks=marks))
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="HEALD_RYU_CASES not set"))]


def with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: with_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [with_numbers(part) for part in value]
    return NAMES.get(value, value) if isinstance(value, str) else value


def request(text: Any) -> bytes:
    from ryu.ofproto import ofproto_parser, ofproto_protocol

    datapath = ofproto_protocol.ProtocolDesc(version=4)
    datapath.set_xid = lambda message: message.set_xid(1)
    made = ofproto_parser.ofp_msg_from_jsondict(datapath, with_numbers(text))
    made.set_xid(1)
    made.serialize()
    return bytes(made.buf)


_LAYERS = "arp ethernet icmp icmpv6 ipv4 ipv6 sctp tcp udp vlan".split()  # noqa: SIM905


def frame(layers: list[str]) -> bytes:
    """``layers``: how Ryu's packet library makes each of them."""
    names: dict[str, Any] = {}
    modules = [import_module(f"ryu.lib.packet.{name}") for name in _LAYERS]
    for module in modules:
        names |= vars(module)
    names["echo"] = vars(modules[_LAYERS.index("icmp")])["echo"]
    names["icmpv6echo"] = vars(modules[_LAYERS.index("icmpv6")])["echo"]
    names |= {name: vars(module)[name] for name, module in zip(_LAYERS, modules, strict=True)}
    made = eval("/".join(layers), names)
    made.serialize()
    return bytes(made.data)


@pytest.mark.parametrize("case", cases())
def test_case(case: Any) -> None:
    ports = [PortEntry(n, f"p{n}", n) for n in (RECEIVES, SENDS, SENDS_2)]
    switch = Switch(1, ports, load("openvswitch-3.1"))
    switch.event(Connected("c"), 0.0)
    switch.receive("c", encode(m.Hello((4,)), 4), 0.0)
    for text in case["prerequisite"]:
        said = heard(switch.receive("c", request(text), 0.0))
        assert not said, said
    for test in case["tests"]:
        if isinstance(test["ingress"], dict):
            pytest.skip("needs a generator of traffic")
        effects = switch.event(FrameReceived(RECEIVES, frame(test["ingress"])), 0.0)
        out = [(emitted.port, emitted.data) for emitted in effects.frames]
        if "egress" in test:
            assert (SENDS, frame(test["egress"])) in out
        elif "PACKET_IN" in test:
            told = [r for r in heard(effects) if isinstance(r, m.PacketIn)]
            assert [each.data for each in told] == [frame(test["PACKET_IN"])]
        else:
            for table in test["table-miss"]:
                counters = switch.state.tables[table]
                assert counters.lookups > counters.matched

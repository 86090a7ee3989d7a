"""What a person who writes a topology file sees."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from controller.fabric.load import TopologyErrors, load
from controller.fabric.model import Bfd, Fabric, PortRef, TrafficClass
from tests.fabric.samples import GOOD

TOPOLOGIES = Path(__file__).parents[2] / "topologies"


def read(text: str) -> Fabric:
    return load(text.encode(), "f.yaml")


def problems(text: str | bytes) -> list[str]:
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(TopologyErrors) as caught:
        load(raw, "f.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("name", ["leaf-spine", "leaf-spine-asymmetric"])
def test_shipped_topologies(name: str) -> None:
    fabric = load((TOPOLOGIES / f"{name}.yaml").read_bytes(), name)
    assert fabric.name == name
    assert [s.name for s in fabric.switches] == [f"leaf{i}" for i in range(1, 5)] + [
        "spine1",
        "spine2",
    ]
    assert [h.name for h in fabric.hosts] == [f"h{i}" for i in range(1, 9)]
    assert all(host.accelerators for host in fabric.hosts)
    assert len(fabric.links) == 8
    rates = sorted(link.capacity_bps for link in fabric.links)
    assert rates == ([25e6] if name.endswith("asymmetric") else [50e6]) + [50e6] * 7


def test_short_and_long_forms_mean_the_same() -> None:
    long = """\
fabric: small
switches: {leaf1: {dpid: 0x1}, leaf2: {dpid: "0000000000000002"}, spine1: {dpid: 257}}
hosts:
  h1:
    nics:
      eth0: {attach: [leaf1:1], capacity: 50 Gbit/s, mac: 02-00-00-01-00-01}
  h2:
    nics: {eth0: {attach: leaf2:1, capacity: 50Gbps, ips: ["fd00:0:0:2::1", 10.0.2.1]}}
links:
  - {ends: [spine1:2, leaf2:10], capacity: 0.1T}
  - ends:
      - spine1:1
      - leaf1:10
    latency: 0.5us
    capacity: 100000M
"""
    assert read(long) == read(GOOD)


def test_everything_said_arrives() -> None:
    fabric = read("""\
fabric: rich
defaults:
  accelerator: {kind: tpu}
gateway: {mac: 02:11:22:33:44:55, ipv4: 10.9.9.9, ipv6: fd09::9}
strategy: least-loaded
classes: {roce: {dscp: 26, queue: 3}, rest: {queue: 1}}
switches:
  a: {role: leaf, pod: p1, site: on, limits: {flows: 1000, groups: 50}, ovsdb: "tcp:127.0.0.1:6640"}
  b: {role: leaf}
hosts:
  no:
    labels: {gpu: yes, rack: 12:30:45}
    nics:
      n10: {attach: [b:3, a:3], rail: 1, plane: 2, capacity: 2.5G}
      n9: {attach: b:4, mac: 12:30:45:10:20:30, ips: 192.0.2.1, capacity: 1G}
    accelerators:
      g0: {model: v5p, nic: n10, domain: ici0}
links:
  - {name: x, ends: [b:1, a:1], capacity: 1G, latency: 3ms, srlgs: [duct2, duct1], medium: fibre}
""")
    a, _ = fabric.switches
    assert (a.role, a.pod, a.site, a.flow_limit, a.group_limit) == ("leaf", "p1", "on", 1000, 50)
    assert a.ovsdb == "tcp:127.0.0.1:6640"
    assert fabric.classes == (TrafficClass("rest", None, 1), TrafficClass("roce", 26, 3))
    assert fabric.strategy == "least-loaded"
    assert fabric.gateway_mac == 0x021122334455
    assert (str(fabric.gateway_ipv4), str(fabric.gateway_ipv6)) == ("10.9.9.9", "fd09::9")
    (host,) = fabric.hosts
    assert host.labels == {"gpu": "yes", "rack": "12:30:45"}
    n9, n10 = host.nics
    assert n9.mac == 0x123045102030
    assert n9.addresses == (ip_address("192.0.2.1"),)
    assert n10.attachments == (PortRef("a", 3), PortRef("b", 3))
    assert (n10.rail, n10.plane, n10.capacity_bps) == (1, 2, 2.5e9)
    (gpu,) = host.accelerators
    assert (gpu.kind, gpu.model, gpu.nic, gpu.domain) == ("tpu", "v5p", "n10", "ici0")
    (link,) = fabric.links
    assert (link.name, link.a, link.b) == ("x", PortRef("a", 1), PortRef("b", 1))
    assert (link.latency_s, link.srlgs, link.medium) == (0.003, ("duct1", "duct2"), "fibre")


def test_links_have_the_bfd_of_the_defaults_unless_they_say_otherwise() -> None:
    fabric = read("""\
fabric: f
defaults: {link: {capacity: 1G, bfd: {interval: 100ms, multiplier: 5}}}
switches: {a: , b: }
links:
  - [a:1, b:1]
  - {ends: [a:2, b:2], bfd: 0.02s}
  - {ends: [a:3, b:3], bfd: off}
""")
    assert [link.bfd for link in fabric.links] == [Bfd(100, 5), Bfd(20, 3), None]


def test_provenance_is_the_line_of_the_element() -> None:
    fabric = read(GOOD)
    assert str(fabric.switches[1].source) == "f.yaml:5:3"
    assert str(fabric.hosts[1].source) == "f.yaml:9:3"
    assert str(fabric.links[1].source) == "f.yaml:12:5"


def test_a_class_for_everything_else_is_always_there() -> None:
    best_effort = TrafficClass("best-effort", None, 0)
    assert read(GOOD).classes == (best_effort,)
    assert best_effort in read(GOOD + "classes: {roce: {dscp: 26, queue: 3}}").classes


def test_separate_planes_are_no_partition() -> None:
    fabric = read("""\
fabric: rails
defaults: {nic: {capacity: 1G}}
switches: {rail0: , rail1: }
hosts:
  h1: {nics: {n0: rail0:1, n1: rail1:1}}
  h2: {nics: {n0: rail0:2, n1: rail1:2}}
""")
    assert len(fabric.hosts) == 2


def test_all_problems_at_once() -> None:
    found = problems("""\
fabric: bad
default: {}
switches:
  leaf1: {dpid: 1}
  leaf2: {dpid: 0x1, polle: x}
  leaf1: {dpid: 3}
hosts:
  h1: {attach: leaf1:1, capacity: 1G}
  h2: {attach: leaf1:1, capacity: 0G}
  h3:
    attach: leef1:2
    mac: 0e:00:00:00:00:01
    capacity: 1G
links:
  - {ends: [leaf1:10, leaf1:11], capacity: 1G}
""")
    expected = {
        2: "unknown key 'default': did you mean 'defaults'?",
        5: "unknown key 'polle': did you mean 'role'?",
        6: "'leaf1' stands here twice, first at line 4",
        9: "rate '0G' is impossible",
        11: "unknown switch 'leef1': did you mean 'leaf1'?",
        12: "begin with 0e: are Heald's labels",
        15: "joins leaf1 to itself",
    }
    for line, text in expected.items():
        assert any(p.startswith(f"f.yaml:{line}:") and text in p for p in found), (
            line,
            text,
            found,
        )
    assert any("datapath id 0x1 is used twice, first at line 4" in p for p in found)
    assert any("9:16: port leaf1:1 is used twice, first at line 8" in p for p in found)
    assert len(found) == len(expected) + 2


NO_BFD = {
    "{multiplier: 3}": "bfd has no interval",
    "1.5ms": "whole milliseconds",
    "0ms": "1ms to 10s",
    "on": "no time",
    "": "nothing here",
    "{interval: 10ms, multiplier: 0}": "1 to 255",
    "{interval: 10ms, mult: 3}": "known are interval, multiplier",
}


@pytest.mark.parametrize(("bfd", "text"), NO_BFD.items())
def test_bfd_that_cannot_be(bfd: str, text: str) -> None:
    (found,) = problems(GOOD + f"  - {{ends: [leaf1:90, leaf2:90], capacity: 1G, bfd: {bfd}}}\n")
    assert text in found


# Each case: what is put in place of what in GOOD; the one problem it must give.
WRONG = {
    "dpid of 65 bits": ("dpid: 2", "dpid: 0x10000000000000000", "5:17: ", "no datapath id"),
    "dpid zero": ("dpid: 2", "dpid: 0", "5:17: ", "goes from 1"),
    "octal trap": ("dpid: 2", "dpid: 010", "5:17: ", "leading zeros"),
    "huge number": ("dpid: 2", "dpid: " + "9" * 5000, "5:17: ", "no datapath id"),
    "port zero": ("h2: leaf2:1", "h2: leaf2:0", "9:7: ", "ports go from 1 to 65279"),
    "port too large": ("h2: leaf2:1", "h2: leaf2:65280", "9:7: ", "ports go from 1 to 65279"),
    "no port": ("h2: leaf2:1", "h2: leaf2", "9:7: ", "write SWITCH:NUMBER"),
    "port with a space": ("h2: leaf2:1", "h2: {attach: {leaf2: 1}}", "9:16: ", "a list belongs"),
    "IPv4 for port 255": ("h2: leaf2:1", "h2: leaf2:255", "9:7: ", "give `ips`"),
    "host without NIC": ("h2: leaf2:1", "h2:", "9:6: ", "no NIC"),
    "empty value": ("h2: leaf2:1", "h2: {attach: leaf2:1, mac: }", "9:30: ", "nothing here"),
    "two ways to say it": (
        "h2: leaf2:1",
        "h2: {attach: leaf2:1, nics: {a: leaf2:2}}",
        "9:7: ",
        "attach beside nics",
    ),
    "multicast MAC": (
        "h2: leaf2:1",
        "h2: {attach: leaf2:1, mac: 03:00:00:00:00:01}",
        "9:30: ",
        "multicast",
    ),
    "MAC as number": ("h2: leaf2:1", "h2: {attach: leaf2:1, mac: 12:30:45}", "9:30: ", "six bytes"),
    "duplicate MAC": (
        "h2: leaf2:1",
        "h2: {attach: leaf2:1, mac: 02:00:00:01:00:01}",
        "9:25: ",
        "used twice, first at line 8",
    ),
    "duplicate IP": (
        "h2: leaf2:1",
        "h2: {attach: leaf2:1, ips: 10.0.1.1}",
        "9:25: ",
        "used twice, first at line 8",
    ),
    "gateway IP": ("h2: leaf2:1", "h2: {attach: leaf2:1, ips: 10.0.0.1}", "9:25: ", "gateway's"),
    "gateway MAC": (
        "h2: leaf2:1",
        "h2: {attach: leaf2:1, mac: 02:00:00:00:00:01}",
        "9:25: ",
        "gateway's",
    ),
    "loopback": ("h2: leaf2:1", "h2: {attach: leaf2:1, ips: ['::1']}", "9:31: ", "a loopback"),
    "multicast": ("h2: leaf2:1", "h2: {attach: leaf2:1, ips: 224.0.0.1}", "9:30: ", "a multicast"),
    "prefix": ("h2: leaf2:1", "h2: {attach: leaf2:1, ips: 10.0.2.1/24}", "9:30: ", "prefix length"),
    "no unit": ("capacity: 100G", "capacity: 100", "2:29: ", "did you mean 100G?"),
    "NaN": ("capacity: 100G", "capacity: .nan", "2:29: ", "no rate"),
    "bytes": ("capacity: 100G", "capacity: 100GB", "2:29: ", "no rate"),
    "no link capacity": ("link: {capacity: 100G}, ", "", "11:5: ", "has no capacity"),
    "unknown switch": ("spine1:1]", "spine2:1]", "11:16: ", "did you mean 'spine1'?"),
    "three ends": ("spine1:1]", "spine1:1, spine1:3]", "11:5: ", "a link has two"),
    "one link, two ports": ("spine1:2]", "spine1:1]", "12:16: ", "first at line 11"),
    "link through a NIC": ("leaf2:10", "leaf2:1", "12:6: ", "first at line 9"),
    "partition": (
        "  - [leaf2:10, spine1:2]\n",
        "",
        "9:3: ",
        "no path between h2 (on leaf2) and h1",
    ),
    "host called like a switch": ("h2:", "leaf2:", "9:3: ", "rename one"),
    "name": ("h2:", "h/2:", "9:3: ", "is no name"),
    "alias": ("h2: leaf2:1", "h2: *x", "9:7: ", "no anchor"),
    "recursion": ("h2: leaf2:1", "h2: &x [*x]", "9:11: ", "stands inside"),
    "tag": ("h2: leaf2:1", "h2: !!python/object:os.system leaf2:1", "9:7: ", "delete it"),
    "merge": ("h2: leaf2:1", "<<: {h2: leaf2:1}", "9:3: ", "use `defaults`"),
    "second document": ("links:", "---\nlinks:", "10:1: ", "one file holds one fabric"),
    "tab": ("  h2", "\th2", "9:1: ", "indent with spaces"),
    "control character": ("h2", "h\x012", "9:4: ", "U+0001"),
    "DSCP": ("links:", "classes: {a: {dscp: 64}}\nlinks:", "10:21: ", "goes from 0 to 63"),
    "DSCP twice": (
        "links:",
        "classes: {a: {dscp: 1, queue: 1}, b: {dscp: 1, queue: 2}}\nlinks:",
        "10:35: ",
        "DSCP 1 is used twice",
    ),
    "queue": ("links:", "classes: {a: {queue: -1}}\nlinks:", "10:22: ", "goes from 0 to 61439"),
    "no switches": ("switches:", "swithces:", "3:1: ", "did you mean 'switches'?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong(case: str) -> None:
    old, new, where, what = WRONG[case]
    assert old in GOOD
    found = problems(GOOD.replace(old, new))
    hits = [p for p in found if p.startswith("f.yaml:" + where) and what in p]
    assert len(hits) == 1, found
    rest = [p for p in found if p not in hits and "links" not in p and "missing" not in p]
    if case == "no link capacity":
        rest = [p for p in rest if not p.startswith("f.yaml:12:")]
    assert not rest, rest


def test_more_attachment_sets_than_labels() -> None:
    # 182 switches have 16,471 pairs.
    pairs = [(i, j) for i in range(182) for j in range(i)]
    hosts = "".join(
        f"  h{n}: {{attach: [s{i}:{j + 1}, s{j}:{i + 1}], ips: 10.{n >> 8}.{n & 255}.9}}\n"
        for n, (i, j) in enumerate(pairs)
    )
    switches = "".join(f"  s{i}:\n" for i in range(182))
    head = "fabric: f\ndefaults: {nic: {capacity: 1G}}\nswitches:\n"
    (found,) = problems(f"{head}{switches}hosts:\n{hosts}")
    assert found.startswith("f.yaml:186:1: ")
    assert "16471 different sets" in found

"""Order means nothing, derived addresses stay, errors point at the culprit: for any fabric."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.fabric.addresses import switch_numbers
from controller.fabric.load import TopologyErrors, load
from controller.fabric.model import Fabric, Nic
from tests.fabric.samples import few

HEAD = "defaults: {link: {capacity: 100G}, nic: {capacity: 50G}}"


@dataclass
class Draft:
    """A file as lines of each section, so that they can be moved about."""

    switches: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def text(self, order: tuple[str, ...] = ("switches", "hosts", "links")) -> str:
        lines = ["fabric: f", HEAD]
        for section in order:
            lines += [f"{section}:", *getattr(self, section)]
        return "\n".join(lines) + "\n"

    def load(self) -> Fabric:
        return load(self.text().encode(), "f.yaml")


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A connected leaf-spine: some switches name their datapath id, some hosts have two NICs."""
    leaves, spines = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    dpids = draw(st.lists(st.integers(1, 2**64 - 1), min_size=8, max_size=8, unique=True))
    draft = Draft()
    for i in range(leaves + spines):
        name = f"leaf{i}" if i < leaves else f"spine{i - leaves}"
        dpid = f"dpid: 0x{dpids[i]:x}" if draw(st.booleans()) else ""
        draft.switches.append(f"  {name}: {{{dpid}}}")
    for leaf in range(leaves):
        for host in range(draw(st.integers(1, 3))):
            port = draw(st.integers(1, 50)) * 4 + host
            if draw(st.booleans()) or leaf + 1 == leaves:
                draft.hosts.append(f"  h{leaf}x{host}: leaf{leaf}:{port}")
            else:
                ports = f"[leaf{leaf + 1}:{1000 + leaf * 10 + host}, leaf{leaf}:{port}]"
                draft.hosts.append(
                    f"  h{leaf}x{host}: {{nics: {{b: {ports}, a: leaf{leaf}:{240 + host}}}}}"
                )
        for spine in range(spines):
            draft.links.append(f"  - [leaf{leaf}:{300 + spine}, spine{spine}:{leaf + 1}]")
    return draft


@few
@given(drafts(), st.data())
def test_order_comments_and_layout_mean_nothing(draft: Draft, data: st.DataObject) -> None:
    mixed = Draft(
        *(data.draw(st.permutations(lines)) for lines in (draft.switches, draft.hosts, draft.links))
    )
    mixed.links = [
        "  # turned round\n  - [" + ", ".join(reversed(line[5:-1].split(", "))) + "]"
        if data.draw(st.booleans())
        else line
        for line in mixed.links
    ]
    order = data.draw(st.permutations(["switches", "hosts", "links"]))
    again = load(mixed.text(tuple(order)).encode(), "other.yaml")
    assert again == draft.load()


@few
@given(drafts())
def test_derived_addresses_are_unique_and_local(draft: Draft) -> None:
    fabric = draft.load()
    macs = [nic.mac for nic in fabric.nics]
    ips = [ip for nic in fabric.nics for ip in nic.addresses]
    assert len(set(macs)) == len(macs)
    assert len(set(ips)) == len(ips) == 2 * len(macs)
    for mac in macs:
        assert mac >> 40 == 0x02
    ten, fd00 = ip_network("10.0.0.0/8"), ip_network("fd00::/16")
    assert all(ip in (ten if ip.version == 4 else fd00) for ip in ips)


@few
@given(drafts())
def test_one_prefix_covers_a_leaf_and_no_other(draft: Draft) -> None:
    owner: dict[IPv4Network | IPv6Network, str] = {}
    for nic in draft.load().nics:
        for ip in nic.addresses:
            prefix = ip_network(f"{ip}/{24 if ip.version == 4 else 64}", strict=False)
            leaf = nic.attachments[0].switch
            assert owner.setdefault(prefix, leaf) == leaf


def addresses(fabric: Fabric) -> dict[str, tuple[object, ...]]:
    def of(nic: Nic) -> tuple[object, ...]:
        return (nic.mac, nic.addresses)

    return {nic.id: of(nic) for nic in fabric.nics}


@few
@given(drafts(), st.integers(0, 10))
def test_a_new_host_or_link_leaves_all_addresses_alone(draft: Draft, at: int) -> None:
    before = draft.load()
    draft.hosts.insert(at, "  a0: leaf0:2")
    draft.links.insert(at, "  - [leaf0:400, spine0:400]")
    after = draft.load()
    kept = addresses(after)
    del kept["a0/eth0"]
    assert kept == addresses(before)
    dpids = {s.name: s.dpid for s in before.switches}
    assert {s.name: s.dpid for s in after.switches} == dpids


@few
@given(st.lists(st.integers(1, 2**64 - 1), min_size=1, max_size=40, unique=True))
def test_a_new_switch_moves_only_numbers_that_were_shared(dpids: list[int]) -> None:
    *old, new = dpids
    before, after = switch_numbers(old), switch_numbers(dpids)
    assert len(set(after.values())) == len(dpids)
    assert 0 not in after.values()
    for dpid in old:
        at_home = before[dpid] == dpid & 0xFFFF
        if at_home and new & 0xFFFF != dpid & 0xFFFF:
            assert after[dpid] == before[dpid]


def test_switches_that_share_their_low_bits_are_told_apart() -> None:
    assert switch_numbers([0x50001, 0x1, 0x2]) == {0x1: 1, 0x2: 2, 0x50001: 3}
    assert switch_numbers([0x10000, 0x1FFFF, 0x2FFFF]) == {0x10000: 1, 0x1FFFF: 0xFFFF, 0x2FFFF: 2}


BREAKAGES = {
    "switches": ["{polle: x}", "{dpid: 0}", "{role: a/b}", "[x]", "{limits: {flows: -1}}"],
    "hosts": ["leaf99:1", "{attach: leaf0:70000}", "{mac: 1, attach: leaf0:3}", "{}", "leaf0"],
    "links": ["[leaf0:500, leaf99:1]", "[leaf0:500]", "{end: x}", "7", "[leaf0:0, spine0:99]"],
}


@pytest.mark.parametrize("section", BREAKAGES)
@few
@given(drafts(), st.data())
def test_every_error_is_on_the_line_of_the_culprit(
    section: str, draft: Draft, data: st.DataObject
) -> None:
    lines: list[str] = getattr(draft, section)
    wrong = data.draw(st.lists(st.sampled_from(BREAKAGES[section]), min_size=1, max_size=3))
    marks = []
    for i, value in enumerate(wrong):
        at = data.draw(st.integers(0, len(lines)))
        lines.insert(at, ("  - " if section == "links" else f"  new{i}: ") + value + f" # {i}!")
    text = draft.text()
    marks = [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("!")]
    with pytest.raises(TopologyErrors) as caught:
        load(text.encode(), "f.yaml")
    # Where two of the new lines clash with each other, both are culprits.
    assert {p.where.line for p in caught.value.problems} == set(marks)

"""Random programs: requests, some of them wrong, and packets. The same seed gives the same one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from controller.openflow import messages as m
from controller.openflow.codec import encode
from controller.openflow.model import (
    Action,
    ApplyActions,
    Bucket,
    ClearActions,
    CopyField,
    DecTtl,
    Field,
    GotoTable,
    GroupType,
    Instruction,
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
from mininet_tests.frames import IPV4, IPV6, MACS, PORTS, frame

VERSIONS = (4, 6)
LIVE_PORTS = 8
_MISSING_PORT = 77
_TABLES = 4
_GROUPS = range(1, 7)
_METERS = range(1, 4)
_INSERT_BUCKET = 3


@dataclass(frozen=True, slots=True)
class Traced:
    port: int
    hashed: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Program:
    """``requests``: whole messages, whose xids count from 1."""

    seed: int
    version: int
    requests: tuple[bytes, ...]
    packets: tuple[Traced, ...]


def program(seed: int) -> Program:
    random = Random(seed)
    version = VERSIONS[seed % len(VERSIONS)]
    maker = _Maker(random, version)
    wanted = [maker.meter() for _ in range(random.randrange(3))]
    wanted += [maker.group() for _ in range(random.randrange(6))]
    wanted += [maker.flow() for _ in range(random.randrange(4, 20))]
    wanted += [maker.change() for _ in range(random.randrange(4))]
    requests: list[bytes] = []
    for request in wanted:
        try:
            requests.append(encode(request, version, len(requests) + 1))
        except ValueError:
            continue  # a wish that this version has no words for
    packets = tuple(
        Traced(random.randrange(1, LIVE_PORTS + 1), random.randrange(1, 1 << 32), frame(random))
        for _ in range(4)
    )
    return Program(seed, version, tuple(requests), packets)


_IP_FIELDS = [Field.IP_DSCP, Field.IP_ECN, Field.IP_PROTO]
_KINDS: dict[int, list[Field]] = {
    0x0800: [*_IP_FIELDS, Field.IPV4_SRC, Field.IPV4_DST],
    0x86DD: [*_IP_FIELDS, Field.IPV6_SRC, Field.IPV6_DST, Field.IPV6_FLABEL],
    0x0806: [Field.ARP_OP, Field.ARP_SPA, Field.ARP_TPA, Field.ARP_SHA, Field.ARP_THA],
}
_PROTOCOLS: dict[int, list[Field]] = {
    6: [Field.TCP_SRC, Field.TCP_DST],
    17: [Field.UDP_SRC, Field.UDP_DST],
    1: [Field.ICMPV4_TYPE, Field.ICMPV4_CODE],
    58: [Field.ICMPV6_TYPE, Field.ICMPV6_CODE],
}
_ND = [Field.IPV6_ND_TARGET, Field.IPV6_ND_SLL, Field.IPV6_ND_TLL]
_FREE = [Field.IN_PORT, Field.METADATA, Field.ETH_DST, Field.ETH_SRC, Field.VLAN_VID]
_ANY_FIELD = [f for f in Field if f not in (Field.TUNNEL_ID, Field.ACTSET_OUTPUT)]
_MASKED = {
    Field.METADATA,
    Field.ETH_DST,
    Field.ETH_SRC,
    Field.IPV4_SRC,
    Field.IPV4_DST,
    Field.IPV6_SRC,
    Field.IPV6_DST,
    Field.UDP_SRC,
    Field.TCP_DST,
    Field.ARP_SPA,
    Field.IPV6_FLABEL,
}


class _Maker:
    def __init__(self, random: Random, version: int) -> None:
        self._random = random
        self._version = version
        self._priorities = random.sample(range(1, 0xFFFF), 200)
        self._flows: list[m.FlowMod] = []

    def _value(self, field: Field) -> int:
        random = self._random
        if field in (Field.ETH_DST, Field.ETH_SRC, Field.ARP_SHA, Field.ARP_THA):
            return random.choice(MACS)
        if field in (Field.IPV6_ND_SLL, Field.IPV6_ND_TLL):
            return random.choice(MACS)
        if field in (Field.IPV4_SRC, Field.IPV4_DST, Field.ARP_SPA, Field.ARP_TPA):
            return random.choice(IPV4)
        if field in (Field.IPV6_SRC, Field.IPV6_DST, Field.IPV6_ND_TARGET):
            return random.choice(IPV6)
        if field.bits == 16 and field.name[-4:] in ("_SRC", "_DST"):
            return random.choice(PORTS)
        small = {
            Field.IN_PORT: (1, 2, 3, 4, 5, 6, 7, 8, _MISSING_PORT, 0xFF05, Port.LOCAL),
            Field.METADATA: (0, 1, 7, 1 << 40),
            Field.VLAN_VID: (0, 0x1000, 0x1001, 0x1064),
            Field.VLAN_PCP: (0, 1, 7),
            Field.IP_DSCP: (0, 26, 46),
            Field.IP_ECN: (0, 1, 3),
            Field.IP_PROTO: (1, 6, 17, 58),
            Field.ARP_OP: (1, 2, 0x101),
            Field.ICMPV4_TYPE: (0, 8),
            Field.ICMPV6_TYPE: (128, 135, 136),
            Field.ICMPV4_CODE: (0, 1),
            Field.ICMPV6_CODE: (0, 0, 1),
            Field.NXM_IN_PORT: (0xFFFF, 1, 3),
            Field.ND_OPTIONS_TYPE: (1, 2),
            Field.ETH_TYPE: (0x0800, 0x86DD, 0x0806, 0x88CC, 0x8847),
        }.get(field)
        return random.choice(small) if small else random.getrandbits(field.bits)

    def _matched(self) -> dict[Field, int | tuple[int, int]]:
        random = self._random
        chosen: dict[Field, int | tuple[int, int]] = {}
        for field in random.sample(_FREE, random.choice((0, 0, 1, 1, 2))):
            chosen[field] = self._value(field)
        if chosen.get(Field.VLAN_VID) and random.random() < 0.4:
            chosen[Field.VLAN_PCP] = self._value(Field.VLAN_PCP)
        if random.random() < 0.75:
            ethertype = random.choice(list(_KINDS))
            chosen[Field.ETH_TYPE] = ethertype
            for field in random.sample(_KINDS[ethertype], random.choice((0, 1, 1, 2))):
                chosen[field] = self._value(field)
            if ethertype != 0x0806 and random.random() < 0.6:
                usual = (6, 17, 1) if ethertype == 0x0800 else (6, 17, 58)
                protocol = random.choice(usual)
                chosen[Field.IP_PROTO] = protocol
                for field in random.sample(_PROTOCOLS[protocol], random.choice((0, 1, 2))):
                    chosen[field] = self._value(field)
                if protocol == 58 and random.random() < 0.5:
                    chosen[Field.ICMPV6_TYPE] = random.choice((135, 136))
                    chosen[Field.ICMPV6_CODE] = 0
                    for field in random.sample(_ND, 1):
                        chosen[field] = self._value(field)
        if random.random() < 0.06:
            field = random.choice([f for f in _ANY_FIELD if f.value[0] == 0x8000])
            chosen[field] = self._value(field)
        for field in list(chosen):
            if (field in _MASKED and random.random() < 0.4) or random.random() < 0.01:
                value = chosen[field]
                mask = random.getrandbits(field.bits) | 1
                if isinstance(value, int):
                    chosen[field] = value & mask, mask
        return chosen

    def _match(self) -> Match:
        while True:
            try:
                return Match.of(self._matched())
            except ValueError:
                continue

    def _port(self) -> int:
        usual = range(1, LIVE_PORTS + 1)
        rare = (
            Port.IN_PORT,
            Port.CONTROLLER,
            Port.ALL,
            Port.FLOOD,
            Port.LOCAL,
            _MISSING_PORT,
            Port.IN_PORT,
        )
        wrong = (Port.ANY, 0xFF05, Port.MAX + 1)
        pick = self._random.random()
        if pick < 0.8:
            return self._random.choice(usual)
        return self._random.choice(rare if pick < 0.98 else wrong)

    def _settable(self, match: Match) -> Field:
        """Mostly a field that packets which match have."""
        random = self._random
        if random.random() < 0.06:
            return random.choice(_ANY_FIELD)
        fields = [Field.ETH_DST, Field.ETH_SRC, Field.METADATA, Field.REG0, Field.NXM_IN_PORT]
        matched = {f.field: f.value for f in match.fields}
        ethertype = matched.get(Field.ETH_TYPE)
        if ethertype in _KINDS:
            fields += [f for f in _KINDS[ethertype] if f is not Field.IP_PROTO]
            if matched.get(Field.IP_PROTO) in _PROTOCOLS:
                fields += _PROTOCOLS[matched[Field.IP_PROTO]]
        if matched.get(Field.ICMPV6_TYPE) in (135, 136) and Field.ICMPV6_CODE in matched:
            fields += [*_ND, Field.ND_RESERVED, Field.ND_OPTIONS_TYPE]
        if matched.get(Field.VLAN_VID, 0) & 0x1000:
            fields += [Field.VLAN_VID, Field.VLAN_PCP]
        return random.choice(fields)

    def _set_mask(self, field: Field) -> int:
        random = self._random
        if self._version == 6:
            return random.getrandbits(field.bits) | 1
        bits = random.randint(1, min(64, field.bits))
        return ((1 << bits) - 1) << random.randint(0, field.bits - bits)

    def _action(self, match: Match, in_bucket: bool) -> Action:
        random = self._random
        pick = random.random()
        if pick < 0.4:
            return Output(self._port(), random.choice((0, 128, 0xFFFF)))
        if pick < 0.7:
            field = self._settable(match)
            value = self._value(field)
            if random.random() < 0.15:
                mask = self._set_mask(field)
                if mask != field.all_ones:
                    return SetField(field, value & mask, mask)
            return SetField(field, value)
        if pick < 0.78:
            return ToGroup(random.choice(_GROUPS))
        if pick < 0.82:
            return SetQueue(random.randrange(4))
        if pick < 0.88:
            source, target = self._settable(match), self._settable(match)
            bits = random.randint(1, min(source.bits, target.bits))
            return CopyField(
                source,
                target,
                bits,
                random.randint(0, source.bits - bits),
                random.randint(0, target.bits - bits),
            )
        if pick < 0.92:
            return random.choice((DecTtl(), DecTtl(), SetTtl(random.choice((1, 2, 9)))))
        if pick < 0.985 or in_bucket:
            return random.choice((PopVlan(), PushVlan(0x8100), PushVlan(0x8100), PushVlan(0x88A8)))
        return random.choice((Metered(random.choice(_METERS)), PushVlan(0x0800), Metered(0)))

    def _actions(self, match: Match, in_bucket: bool = False) -> tuple[Action, ...]:
        random = self._random
        found = [self._action(match, in_bucket) for _ in range(random.choice((1, 1, 2, 3, 4)))]
        if random.random() < 0.5:
            found.append(Output(self._port()))
        if not in_bucket and random.random() < 0.05:
            found.insert(0, Metered(random.choice(_METERS)))
        return tuple(found)

    def _instructions(self, match: Match, table: int) -> tuple[Instruction, ...]:
        random = self._random
        found: list[Instruction] = []
        if random.random() < 0.75:
            found.append(ApplyActions(self._actions(match)))
        if random.random() < 0.08:
            found.append(ClearActions())
        if random.random() < 0.3:
            found.append(WriteActions(self._actions(match)))
        if random.random() < 0.2:
            mask = random.choice((0xFFFFFFFFFFFFFFFF, 7, 1 << 40))
            found.append(WriteMetadata(self._value(Field.METADATA) & mask, mask))
        if random.random() < 0.5 and table < _TABLES:
            later = random.randint(table + 1, _TABLES) if random.random() < 0.97 else table
            found.append(GotoTable(later))
        return tuple(found)

    def flow(self) -> m.FlowMod:
        random = self._random
        match = self._match()
        table = random.choice((0, 0, 0, 1, 1, 2, 3))
        made = m.FlowMod(
            m.FlowCommand.ADD,
            table,
            self._priorities.pop(),
            match,
            self._instructions(match, table),
            cookie=random.choice((0, 1, 0xFF00000000000001)),
            flags=random.choice((0, 0, 0, 0, 4, 1, 2, 64)) if random.random() < 0.1 else 0,
        )
        if random.random() < 0.02:
            wrong: list[dict[str, int]] = [
                {"table": 254},
                {"table": 255},
                {"command": 9},
                {"buffer_id": 5},
                {"out_port": 0xFF05},
            ]
            fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
            return m.FlowMod(**fields | random.choice(wrong))
        self._flows.append(made)
        return made

    def change(self) -> m.FlowMod | m.GroupMod | m.MeterMod:
        """Of something that is there already, most often."""
        random = self._random
        pick = random.random()
        if pick < 0.15:
            return self.group(command=random.choice((1, 1, 2, 3, 5, 9)))
        if pick < 0.25:
            return self.meter(command=random.choice((1, 2, 7)))
        old = random.choice(self._flows) if self._flows else self.flow()
        command = random.choice(list(m.FlowCommand))
        general = random.random() < 0.3
        deletes = command in (m.FlowCommand.DELETE, m.FlowCommand.DELETE_STRICT)
        return m.FlowMod(
            command,
            255 if deletes and random.random() < 0.3 else old.table,
            old.priority,
            Match(old.match.fields[:1]) if general else old.match,
            () if deletes else self._instructions(old.match, old.table),
            cookie=old.cookie,
            cookie_mask=0 if command == 0 else random.choice((0, 0, 0xFFFFFFFFFFFFFFFF)),
            out_port=random.choice((Port.ANY, Port.ANY, 1)),
            out_group=random.choice((0xFFFFFFFF, 0xFFFFFFFF, 1)),
        )

    def group(self, command: int = 0) -> m.GroupMod:
        random = self._random
        kind = random.choice(list(GroupType))
        group_id = random.choice(_GROUPS)
        count = 1 if kind is GroupType.INDIRECT else random.randrange(4)
        if random.random() < 0.05:
            count += 1
        if command == _INSERT_BUCKET:
            count = max(count, 1)  # without any, Open vSwitch 3.1 never returns
        buckets = []
        ids = random.sample(range(8), count)
        for number in ids:
            match = self._match()
            actions = self._actions(match, in_bucket=True)
            watch_port = watch_group = None
            watches = kind in (GroupType.FAST_FAILOVER, GroupType.SELECT)
            if watches != (random.random() < 0.04):
                if random.random() < 0.7:
                    watch_port = random.choice((1, 2, 3, 8, _MISSING_PORT))
                else:
                    watch_group = random.choice(_GROUPS)
            weight = random.choice((0, 1, 1, 2, 3, 100)) if kind is GroupType.SELECT else 0
            if kind is not GroupType.SELECT and random.random() < 0.02:
                weight = 1
            buckets.append(Bucket(number, actions, weight, watch_port, watch_group))
        selection = None
        if self._version == 6 and kind is GroupType.SELECT and random.random() < 0.7:
            selection = m.Selection("dp_hash", random.choice((0, 1 << 32, 5)))
        edits = command in (3, 5)
        return m.GroupMod(
            command,
            kind,
            group_id,
            () if command == 2 or (command == 5 and random.random() < 0.9) else tuple(buckets),
            random.choice((0, 3, 0xFFFFFFFD, 0xFFFFFFFE)) if edits else 0xFFFFFFFF,
            selection,
        )

    def meter(self, command: int = 0) -> m.MeterMod:
        random = self._random
        flags = random.choice((1, 2, 4 | 2, 4 | 1 | 8, 3, 0, 16 | 1))
        flags = flags if random.random() < 0.3 else random.choice((5, 6))
        bands: tuple[m.Band, ...] = (m.DropBand(random.choice((1, 1000, 0)), 10),)
        if random.random() < 0.1:
            bands = random.choice(((), (m.RemarkBand(5, 5, 1),), bands * 9, bands * 2))
        wrong = (0, 0xFFFF0001, 0xFFFFFFFF)
        number = random.choice(wrong) if random.random() < 0.05 else random.choice(_METERS)
        return m.MeterMod(command, flags, number, bands)

"""The topology file, key by key.

``docs/topology-reference.md`` is made of what stands here: of the text below each key, where a last
sentence ``Default: X.`` says what X is if that is no plain value, and below each kind of value.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from controller.fabric import quantities
from controller.fabric.addresses import GATEWAY_IPV4, GATEWAY_IPV6, GATEWAY_MAC, NUMBERS
from controller.fabric.model import STRATEGIES, IpAddress, PortRef

T = TypeVar("T")


def _empty_is_none(value: object) -> object:
    """``hosts:`` with nothing below it says that there are none."""
    return {} if value is None else value


def _something(value: object) -> object:
    if value is None:
        raise ValueError("nothing here: give a value, or delete the key")
    return value


def _one_or_many(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _number(low: int, high: int, what: str) -> PlainValidator:
    return PlainValidator(lambda value: quantities.number(value, low, high, what))


Name = Annotated[str, PlainValidator(quantities.name)]
"""``leaf1``, ``rack-3.b``: up to 63 letters, digits, ``.``, ``_``, ``-``; begins with a letter or
digit."""
Word = Annotated[str, PlainValidator(quantities.word)]
"""Any words on one line."""
Dpid = Annotated[int, PlainValidator(quantities.dpid)]
"""``0x1a``, ``26``, or the 16 hexadecimal digits that a switch prints."""
Port = Annotated[PortRef, PlainValidator(quantities.port)]
"""``leaf1:11``: switch and OpenFlow port number, 1 to 65279."""
Mac = Annotated[int, PlainValidator(quantities.mac)]
"""``02:00:00:01:00:01``: unicast, not beginning with ``0e:`` (those are Heald's labels)."""
Ip = Annotated[IpAddress, PlainValidator(quantities.address)]
"""``10.0.1.1``, ``fd00::1``: a unicast address, no prefix length."""
Ipv4 = Annotated[IPv4Address, PlainValidator(quantities.ipv4)]
"""``10.0.0.1``."""
Ipv6 = Annotated[IPv6Address, PlainValidator(quantities.ipv6)]
"""``fd00::1``."""
RateBps = Annotated[float, PlainValidator(quantities.rate_bps)]
"""``400G``, ``2.5G``, ``50M``: bits per second; the unit (K, M, G, T) must be there, and may be
``Gbps`` or ``Gbit/s``."""
TimeS = Annotated[float, PlainValidator(quantities.time_s)]
"""``500ns``, ``1.5us``, ``20ms``, ``1s``: up to 10 s."""
BfdIntervalMs = Annotated[int, PlainValidator(quantities.bfd_interval_ms)]
"""``100ms``: 1 ms to 10 s in whole milliseconds."""
Ovsdb = Annotated[str, PlainValidator(quantities.ovsdb)]
"""``tcp:HOST:PORT`` or ``unix:/PATH``; ``ssl:`` is not supported yet."""
Entries = Annotated[int, _number(1, 2**32 - 1, "number of table entries")]
"""A number from 1 on; numbers have no leading zeros, and may be ``0x1a``."""
Strategy = Annotated[str, PlainValidator(quantities.strategy)]
"""How paths are weighted: `auto`, `exact`, or one of the [baselines](planning.md#strategies)."""
Dscp = Annotated[int, _number(0, 63, "DSCP")]
"""0 to 63."""
BfdMultiplier = Annotated[int, _number(1, 255, "multiplier of BFD")]
"""1 to 255."""
# Open vSwitch's linux-htb has that many queues on a port.
Queue = Annotated[int, _number(0, 0xEFFF, "queue id")]
"""0 to 61439."""
Share = Annotated[float, PlainValidator(quantities.share)]
"""``40%`` of a port's capacity."""
Priority = Annotated[int, _number(0, 7, "priority")]
"""0 to 7."""
YesOrNo = Annotated[bool, PlainValidator(quantities.yes_or_no)]
"""``true`` or ``false``."""
Index = Annotated[int, _number(0, 0xFFFF, "number of a rail or plane")]
"""0 to 65535."""
OneOrMany = Annotated[list[T], BeforeValidator(_one_or_many), Field(min_length=1)]
Named = Annotated[dict[Name, T], BeforeValidator(_empty_is_none)]
Maybe = Annotated[T | None, BeforeValidator(_something)]
Optional = Annotated[T, BeforeValidator(_empty_is_none)]


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BfdSpec(Spec):
    """Short forms: the interval alone, or ``off``, which is one without interval."""

    interval: Maybe[BfdIntervalMs] = None
    """Time between two messages; ``off`` instead of all keys for a link that is to have none.
    Default: required."""
    multiplier: BfdMultiplier = 3
    """After so many intervals of silence the link is dead."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {} if value == "off" else {"interval": value}
        if isinstance(value, dict) and "interval" not in value:
            raise ValueError("bfd has no interval: add one, like 100ms, or write `bfd: off`")
        return value


class LinkDefaults(Spec):
    capacity: Maybe[RateBps] = None
    """Rate of a link in either direction."""
    latency: TimeS = 500e-9
    """Of a link, one way."""
    medium: Maybe[Word] = None
    """What links are made of, in words of yours."""
    bfd: Maybe[BfdSpec] = None
    """Watches links that can die in silence."""


class NicDefaults(Spec):
    capacity: Maybe[RateBps] = None
    """Rate of a NIC."""


class AcceleratorDefaults(Spec):
    kind: Name = "gpu"
    """Such as gpu, tpu, fpga."""
    model: Maybe[Word] = None
    """Such as H100."""


class Defaults(Spec):
    link: Optional[LinkDefaults] = LinkDefaults()
    """Of links between switches."""
    nic: Optional[NicDefaults] = NicDefaults()
    """Of NICs."""
    accelerator: Optional[AcceleratorDefaults] = AcceleratorDefaults()
    """Of accelerators."""


class Gateway(Spec):
    """What hosts take for their router."""

    mac: Mac = GATEWAY_MAC
    """Its MAC address."""
    ipv4: Ipv4 = GATEWAY_IPV4
    """Its IPv4 address."""
    ipv6: Ipv6 = GATEWAY_IPV6
    """Its IPv6 address."""


class ClassSpec(Spec):
    """A traffic class; the one without ``dscp`` takes everything else."""

    dscp: Maybe[OneOrMany[Dscp]] = None
    """Packets with this code point, or one of these; Heald marks with the first. Default:
    everything else; one class at most goes without."""
    queue: Queue = 0
    """Queue of its packets, and of no other class."""
    share: Maybe[Share] = None
    """What it is guaranteed of a port. Default: an equal part of what the others leave."""
    ceiling: Share = 1.0
    """What it never gets more of. Default: `100%`."""
    priority: Priority = 0
    """What others leave goes to the highest first."""
    lossless: YesOrNo = False
    """Meant for priority flow control, which neither OpenFlow nor OVSDB can set up.
    Default: `false`."""


class Limits(Spec):
    """What the tables of a switch hold."""

    flows: Maybe[Entries] = None
    """How many flows it holds."""
    groups: Maybe[Entries] = None
    """How many groups it holds."""


class SwitchSpec(Spec):
    """A switch; all keys can be left out."""

    dpid: Maybe[Dpid] = None
    """Datapath id. Default: derived from the name."""
    role: Name = "switch"
    """Usual are leaf, spine, aggregation, core, border."""
    pod: Maybe[Name] = None
    """A part of the fabric that it belongs to."""
    site: Maybe[Name] = None
    """Where it stands."""
    limits: Optional[Limits] = Limits()
    """What its tables hold."""
    ovsdb: Maybe[Ovsdb] = None
    """Address of its Open vSwitch database, for what OpenFlow has no words for."""


class NicKeys(Spec):
    """Keys of a NIC."""

    mac: Maybe[Mac] = None
    """Its MAC address. Default: derived from where it is plugged in."""
    ips: Maybe[OneOrMany[Ip]] = None
    """If given, the NIC has exactly these. Default: derived from where it is plugged in."""
    rail: Maybe[Index] = None
    """Number of its rail."""
    plane: Maybe[Index] = None
    """Number of its plane."""
    capacity: Maybe[RateBps] = None
    """Its rate, of all its ports together. Default: ``defaults: nic: capacity``; one of the two
    must be there."""


class NicSpec(NicKeys):
    """Short form: the port alone."""

    attach: OneOrMany[Port]
    """Where it is plugged in."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"attach": value} if isinstance(value, str | list) else _empty_is_none(value)


class AcceleratorSpec(Spec):
    """Short form: the model alone.

    ``nic`` is the nearest NIC; accelerators of one ``domain`` share NVLink or PCIe.
    """

    kind: Maybe[Name] = None
    """Such as gpu, tpu, fpga. Default: ``defaults: accelerator: kind``."""
    model: Maybe[Word] = None
    """Such as H100. Default: ``defaults: accelerator: model``."""
    nic: Maybe[Name] = None
    """Its nearest NIC. Default: the only one; required if there are several."""
    domain: Maybe[Name] = None
    """Accelerators of one domain share NVLink or PCIe."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else _empty_is_none(value)


class HostSpec(NicKeys):
    """A host has ``nics``, or the keys of its only one (called eth0) stand in the host itself."""

    attach: Maybe[OneOrMany[Port]] = None
    """Where its only NIC is plugged in. Default: required, unless it has ``nics``."""
    nics: Named[NicSpec] = {}
    """Its NICs, if it has several."""
    accelerators: Named[AcceleratorSpec] = {}
    """Its accelerators."""
    labels: Named[Word] = {}
    """For selectors in intents."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"attach": value} if isinstance(value, str | list) else _empty_is_none(value)

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> HostSpec:
        inline = sorted(NicKeys.model_fields.keys() & self.model_fields_set)
        if self.nics and (inline or self.attach):
            keys = ", ".join(inline + ["attach"] * bool(self.attach))
            raise ValueError(f"{keys} beside nics: move it into the NIC that it belongs to")
        if not self.nics and not self.attach:
            raise ValueError("the host has no NIC: add `attach: SWITCH:PORT` or `nics:`")
        return self


class LinkSpec(Spec):
    """Short form: the two ends alone."""

    ends: Annotated[list[Port], Field(min_length=2, max_length=2)]
    """What it joins."""
    name: Maybe[Name] = None
    """Of the link. Default: its ends, ``leaf1:11-spine1:1``."""
    capacity: Maybe[RateBps] = None
    """Rate in either direction. Default: ``defaults: link: capacity``; one of the two must be
    there."""
    latency: Maybe[TimeS] = None
    """One way. Default: ``defaults: link: latency``."""
    srlgs: OneOrMany[Name] = []
    """Shared-risk groups: links that fail together."""
    medium: Maybe[Word] = None
    """What it is made of, in words of yours. Default: ``defaults: link: medium``."""
    bfd: Maybe[BfdSpec] = None
    """Watches a link that can die in silence. Default: ``defaults: link: bfd``."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"ends": value} if isinstance(value, list) else _empty_is_none(value)


class FabricSpec(Spec):
    fabric: Name
    """Name of the fabric."""
    # By the time that this is looked at, what it makes has been put among the elements.
    generate: Any = None
    """Sizes of a whole fabric, whose elements stand beside those of the file."""
    defaults: Optional[Defaults] = Defaults()
    """What elements have unless they say otherwise."""
    gateway: Optional[Gateway] = Gateway()
    """The virtual router that hosts talk to."""
    strategy: Strategy = STRATEGIES[0]
    """How paths are weighted; options of the controller go first."""
    classes: Named[ClassSpec] = {}
    """Traffic classes, or the name of a [preset](topology.md#classes-name)."""
    switches: Annotated[dict[Name, Optional[SwitchSpec]], Field(min_length=1, max_length=NUMBERS)]
    """At least one, here or by ``generate``."""
    hosts: Named[HostSpec] = {}
    """What hangs on the switches; names differ from those of switches."""
    links: Annotated[list[LinkSpec], BeforeValidator(lambda v: [] if v is None else v)] = []
    """Between switches."""

"""The topology file, key by key. ``docs/topology.md`` says the same for people."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from controller.fabric import quantities
from controller.fabric.addresses import GATEWAY_IPV4, GATEWAY_IPV6, GATEWAY_MAC, NUMBERS
from controller.fabric.model import IpAddress, PortRef

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
Word = Annotated[str, PlainValidator(quantities.word)]
Dpid = Annotated[int, PlainValidator(quantities.dpid)]
Port = Annotated[PortRef, PlainValidator(quantities.port)]
Mac = Annotated[int, PlainValidator(quantities.mac)]
Ip = Annotated[IpAddress, PlainValidator(quantities.address)]
Ipv4 = Annotated[IPv4Address, PlainValidator(quantities.ipv4)]
Ipv6 = Annotated[IPv6Address, PlainValidator(quantities.ipv6)]
RateBps = Annotated[float, PlainValidator(quantities.rate_bps)]
TimeS = Annotated[float, PlainValidator(quantities.time_s)]
BfdIntervalMs = Annotated[int, PlainValidator(quantities.bfd_interval_ms)]
Ovsdb = Annotated[str, PlainValidator(quantities.ovsdb)]
Entries = Annotated[int, _number(1, 2**32 - 1, "number of table entries")]
Dscp = Annotated[int, _number(0, 63, "DSCP")]
BfdMultiplier = Annotated[int, _number(1, 255, "multiplier of BFD")]
# Open vSwitch's linux-htb has that many queues on a port.
Queue = Annotated[int, _number(0, 0xEFFF, "queue id")]
Share = Annotated[float, PlainValidator(quantities.share)]
Priority = Annotated[int, _number(0, 7, "priority")]
YesOrNo = Annotated[bool, PlainValidator(quantities.yes_or_no)]
Index = Annotated[int, _number(0, 0xFFFF, "number of a rail or plane")]
OneOrMany = Annotated[list[T], BeforeValidator(_one_or_many), Field(min_length=1)]
Named = Annotated[dict[Name, T], BeforeValidator(_empty_is_none)]
Maybe = Annotated[T | None, BeforeValidator(_something)]
Optional = Annotated[T, BeforeValidator(_empty_is_none)]


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BfdSpec(Spec):
    """Short forms: the interval alone, or ``off``, which is one without interval."""

    interval: Maybe[BfdIntervalMs] = None
    multiplier: BfdMultiplier = 3

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
    latency: TimeS = 500e-9
    medium: Maybe[Word] = None
    bfd: Maybe[BfdSpec] = None


class NicDefaults(Spec):
    capacity: Maybe[RateBps] = None


class AcceleratorDefaults(Spec):
    kind: Name = "gpu"
    model: Maybe[Word] = None


class Defaults(Spec):
    link: Optional[LinkDefaults] = LinkDefaults()
    nic: Optional[NicDefaults] = NicDefaults()
    accelerator: Optional[AcceleratorDefaults] = AcceleratorDefaults()


class Gateway(Spec):
    """What hosts take for their router."""

    mac: Mac = GATEWAY_MAC
    ipv4: Ipv4 = GATEWAY_IPV4
    ipv6: Ipv6 = GATEWAY_IPV6


class ClassSpec(Spec):
    """A traffic class; the one without ``dscp`` takes everything else. With several, Heald marks
    with the first."""

    dscp: Maybe[OneOrMany[Dscp]] = None
    queue: Queue = 0
    share: Maybe[Share] = None
    ceiling: Share = 1.0
    priority: Priority = 0
    lossless: YesOrNo = False


class Limits(Spec):
    flows: Maybe[Entries] = None
    groups: Maybe[Entries] = None


class SwitchSpec(Spec):
    dpid: Maybe[Dpid] = None
    role: Name = "switch"
    pod: Maybe[Name] = None
    site: Maybe[Name] = None
    limits: Optional[Limits] = Limits()
    ovsdb: Maybe[Ovsdb] = None


class NicKeys(Spec):
    mac: Maybe[Mac] = None
    ips: Maybe[OneOrMany[Ip]] = None
    rail: Maybe[Index] = None
    plane: Maybe[Index] = None
    capacity: Maybe[RateBps] = None


class NicSpec(NicKeys):
    """Short form: the port alone."""

    attach: OneOrMany[Port]

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"attach": value} if isinstance(value, str | list) else _empty_is_none(value)


class AcceleratorSpec(Spec):
    """Short form: the model alone.

    ``nic`` is the nearest NIC; accelerators of one ``domain`` share NVLink or PCIe.
    """

    kind: Maybe[Name] = None
    model: Maybe[Word] = None
    nic: Maybe[Name] = None
    domain: Maybe[Name] = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else _empty_is_none(value)


class HostSpec(NicKeys):
    """A host has ``nics``, or the keys of its only one (called eth0) stand in the host itself."""

    attach: Maybe[OneOrMany[Port]] = None
    nics: Named[NicSpec] = {}
    accelerators: Named[AcceleratorSpec] = {}
    labels: Named[Word] = {}

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
    name: Maybe[Name] = None
    capacity: Maybe[RateBps] = None
    latency: Maybe[TimeS] = None
    srlgs: OneOrMany[Name] = []
    medium: Maybe[Word] = None
    bfd: Maybe[BfdSpec] = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"ends": value} if isinstance(value, list) else _empty_is_none(value)


class FabricSpec(Spec):
    fabric: Name
    generate: Any = None
    """Was put in place of the elements before this is looked at (``fabric/generate``)."""
    defaults: Optional[Defaults] = Defaults()
    gateway: Optional[Gateway] = Gateway()
    classes: Named[ClassSpec] = {}
    switches: Annotated[dict[Name, Optional[SwitchSpec]], Field(min_length=1, max_length=NUMBERS)]
    hosts: Named[HostSpec] = {}
    links: Annotated[list[LinkSpec], BeforeValidator(lambda v: [] if v is None else v)] = []

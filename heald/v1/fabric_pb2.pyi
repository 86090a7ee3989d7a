import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetTopologyRequest(_message.Message):
    __slots__ = ("source",)
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    source: bool
    def __init__(self, source: bool = ...) -> None: ...

class Topology(_message.Message):
    __slots__ = ("name", "version", "switches", "hosts", "links", "source")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    switches: _containers.RepeatedCompositeFieldContainer[Switch]
    hosts: _containers.RepeatedCompositeFieldContainer[Host]
    links: _containers.RepeatedCompositeFieldContainer[Link]
    source: TopologySource
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., switches: _Optional[_Iterable[_Union[Switch, _Mapping]]] = ..., hosts: _Optional[_Iterable[_Union[Host, _Mapping]]] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., source: _Optional[_Union[TopologySource, _Mapping]] = ...) -> None: ...

class TopologySource(_message.Message):
    __slots__ = ("name", "applied", "principal", "time", "text", "file_digest")
    NAME_FIELD_NUMBER: _ClassVar[int]
    APPLIED_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    name: str
    applied: bool
    principal: str
    time: _timestamp_pb2.Timestamp
    text: bytes
    file_digest: bytes
    def __init__(self, name: _Optional[str] = ..., applied: bool = ..., principal: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[bytes] = ..., file_digest: _Optional[bytes] = ...) -> None: ...

class TopologyProblem(_message.Message):
    __slots__ = ("file", "line", "column", "text")
    FILE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    file: str
    line: int
    column: int
    text: str
    def __init__(self, file: _Optional[str] = ..., line: _Optional[int] = ..., column: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class FieldChange(_message.Message):
    __slots__ = ("field", "before", "after")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    field: str
    before: str
    after: str
    def __init__(self, field: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class TopologyChange(_message.Message):
    __slots__ = ("kind", "element", "name", "was", "fields", "cosmetic")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    WAS_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    COSMETIC_FIELD_NUMBER: _ClassVar[int]
    kind: str
    element: str
    name: str
    was: str
    fields: _containers.RepeatedCompositeFieldContainer[FieldChange]
    cosmetic: bool
    def __init__(self, kind: _Optional[str] = ..., element: _Optional[str] = ..., name: _Optional[str] = ..., was: _Optional[str] = ..., fields: _Optional[_Iterable[_Union[FieldChange, _Mapping]]] = ..., cosmetic: bool = ...) -> None: ...

class ApplyTopologyRequest(_message.Message):
    __slots__ = ("text", "name", "validate_only", "request_id")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    text: bytes
    name: str
    validate_only: bool
    request_id: str
    def __init__(self, text: _Optional[bytes] = ..., name: _Optional[str] = ..., validate_only: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class ApplyTopologyResponse(_message.Message):
    __slots__ = ("version", "changes", "file", "file_differs")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    FILE_DIFFERS_FIELD_NUMBER: _ClassVar[int]
    version: int
    changes: _containers.RepeatedCompositeFieldContainer[TopologyChange]
    file: str
    file_differs: bool
    def __init__(self, version: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[TopologyChange, _Mapping]]] = ..., file: _Optional[str] = ..., file_differs: bool = ...) -> None: ...

class WatchTopologyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TopologyEvent(_message.Message):
    __slots__ = ("kind", "time", "version", "changes", "status")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[TopologyEvent.Kind]
        RUNNING: _ClassVar[TopologyEvent.Kind]
        CHANGED: _ClassVar[TopologyEvent.Kind]
        REFUSED: _ClassVar[TopologyEvent.Kind]
        CLEARED: _ClassVar[TopologyEvent.Kind]
    KIND_UNSPECIFIED: TopologyEvent.Kind
    RUNNING: TopologyEvent.Kind
    CHANGED: TopologyEvent.Kind
    REFUSED: TopologyEvent.Kind
    CLEARED: TopologyEvent.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    kind: TopologyEvent.Kind
    time: _timestamp_pb2.Timestamp
    version: int
    changes: _containers.RepeatedCompositeFieldContainer[TopologyChange]
    status: TopologyStatus
    def __init__(self, kind: _Optional[_Union[TopologyEvent.Kind, str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., changes: _Optional[_Iterable[_Union[TopologyChange, _Mapping]]] = ..., status: _Optional[_Union[TopologyStatus, _Mapping]] = ...) -> None: ...

class TopologyStatus(_message.Message):
    __slots__ = ("file", "running", "problems", "refused_time", "file_differs")
    FILE_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_TIME_FIELD_NUMBER: _ClassVar[int]
    FILE_DIFFERS_FIELD_NUMBER: _ClassVar[int]
    file: str
    running: TopologySource
    problems: _containers.RepeatedCompositeFieldContainer[TopologyProblem]
    refused_time: _timestamp_pb2.Timestamp
    file_differs: bool
    def __init__(self, file: _Optional[str] = ..., running: _Optional[_Union[TopologySource, _Mapping]] = ..., problems: _Optional[_Iterable[_Union[TopologyProblem, _Mapping]]] = ..., refused_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., file_differs: bool = ...) -> None: ...

class Switch(_message.Message):
    __slots__ = ("name", "dpid", "role", "pod", "site")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DPID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    SITE_FIELD_NUMBER: _ClassVar[int]
    name: str
    dpid: int
    role: str
    pod: str
    site: str
    def __init__(self, name: _Optional[str] = ..., dpid: _Optional[int] = ..., role: _Optional[str] = ..., pod: _Optional[str] = ..., site: _Optional[str] = ...) -> None: ...

class Nic(_message.Message):
    __slots__ = ("name", "mac", "addresses", "attachments", "capacity_bps")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    ATTACHMENTS_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    name: str
    mac: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    attachments: _containers.RepeatedScalarFieldContainer[str]
    capacity_bps: float
    def __init__(self, name: _Optional[str] = ..., mac: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., attachments: _Optional[_Iterable[str]] = ..., capacity_bps: _Optional[float] = ...) -> None: ...

class Accelerator(_message.Message):
    __slots__ = ("name", "kind", "model", "nic")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NIC_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    model: str
    nic: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., model: _Optional[str] = ..., nic: _Optional[str] = ...) -> None: ...

class Host(_message.Message):
    __slots__ = ("name", "nics", "accelerators", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    NICS_FIELD_NUMBER: _ClassVar[int]
    ACCELERATORS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    nics: _containers.RepeatedCompositeFieldContainer[Nic]
    accelerators: _containers.RepeatedCompositeFieldContainer[Accelerator]
    labels: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., nics: _Optional[_Iterable[_Union[Nic, _Mapping]]] = ..., accelerators: _Optional[_Iterable[_Union[Accelerator, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("name", "a", "b", "capacity_bps", "latency_s", "srlgs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    A_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_S_FIELD_NUMBER: _ClassVar[int]
    SRLGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    a: str
    b: str
    capacity_bps: float
    latency_s: float
    srlgs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., a: _Optional[str] = ..., b: _Optional[str] = ..., capacity_bps: _Optional[float] = ..., latency_s: _Optional[float] = ..., srlgs: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchLinksRequest(_message.Message):
    __slots__ = ("links",)
    LINKS_FIELD_NUMBER: _ClassVar[int]
    links: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, links: _Optional[_Iterable[str]] = ...) -> None: ...

class LinkLoad(_message.Message):
    __slots__ = ("link", "from_port", "to_port", "up", "capacity_bps", "usable_bps", "carried_bps", "foreign_bps", "planned_bps", "dropped_pps", "drained")
    LINK_FIELD_NUMBER: _ClassVar[int]
    FROM_PORT_FIELD_NUMBER: _ClassVar[int]
    TO_PORT_FIELD_NUMBER: _ClassVar[int]
    UP_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    USABLE_BPS_FIELD_NUMBER: _ClassVar[int]
    CARRIED_BPS_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_BPS_FIELD_NUMBER: _ClassVar[int]
    PLANNED_BPS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_PPS_FIELD_NUMBER: _ClassVar[int]
    DRAINED_FIELD_NUMBER: _ClassVar[int]
    link: str
    from_port: str
    to_port: str
    up: bool
    capacity_bps: float
    usable_bps: float
    carried_bps: float
    foreign_bps: float
    planned_bps: float
    dropped_pps: float
    drained: bool
    def __init__(self, link: _Optional[str] = ..., from_port: _Optional[str] = ..., to_port: _Optional[str] = ..., up: bool = ..., capacity_bps: _Optional[float] = ..., usable_bps: _Optional[float] = ..., carried_bps: _Optional[float] = ..., foreign_bps: _Optional[float] = ..., planned_bps: _Optional[float] = ..., dropped_pps: _Optional[float] = ..., drained: bool = ...) -> None: ...

class LinkReport(_message.Message):
    __slots__ = ("time", "plan", "links")
    TIME_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    plan: int
    links: _containers.RepeatedCompositeFieldContainer[LinkLoad]
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., plan: _Optional[int] = ..., links: _Optional[_Iterable[_Union[LinkLoad, _Mapping]]] = ...) -> None: ...

class Drain(_message.Message):
    __slots__ = ("link", "switch", "reason", "principal", "time")
    LINK_FIELD_NUMBER: _ClassVar[int]
    SWITCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    link: str
    switch: str
    reason: str
    principal: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, link: _Optional[str] = ..., switch: _Optional[str] = ..., reason: _Optional[str] = ..., principal: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DrainRequest(_message.Message):
    __slots__ = ("links", "switches", "reason", "validate_only", "force")
    LINKS_FIELD_NUMBER: _ClassVar[int]
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    links: _containers.RepeatedScalarFieldContainer[str]
    switches: _containers.RepeatedScalarFieldContainer[str]
    reason: str
    validate_only: bool
    force: bool
    def __init__(self, links: _Optional[_Iterable[str]] = ..., switches: _Optional[_Iterable[str]] = ..., reason: _Optional[str] = ..., validate_only: bool = ..., force: bool = ...) -> None: ...

class UndrainRequest(_message.Message):
    __slots__ = ("links", "switches")
    LINKS_FIELD_NUMBER: _ClassVar[int]
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    links: _containers.RepeatedScalarFieldContainer[str]
    switches: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, links: _Optional[_Iterable[str]] = ..., switches: _Optional[_Iterable[str]] = ...) -> None: ...

class DrainResponse(_message.Message):
    __slots__ = ("drains", "effect")
    DRAINS_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    drains: _containers.RepeatedCompositeFieldContainer[Drain]
    effect: DrainEffect
    def __init__(self, drains: _Optional[_Iterable[_Union[Drain, _Mapping]]] = ..., effect: _Optional[_Union[DrainEffect, _Mapping]] = ...) -> None: ...

class DrainEffect(_message.Message):
    __slots__ = ("mlu_before", "mlu_after", "cut_off", "degraded")
    MLU_BEFORE_FIELD_NUMBER: _ClassVar[int]
    MLU_AFTER_FIELD_NUMBER: _ClassVar[int]
    CUT_OFF_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    mlu_before: float
    mlu_after: float
    cut_off: _containers.RepeatedScalarFieldContainer[str]
    degraded: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, mlu_before: _Optional[float] = ..., mlu_after: _Optional[float] = ..., cut_off: _Optional[_Iterable[str]] = ..., degraded: _Optional[_Iterable[str]] = ...) -> None: ...

class GetPlanRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Placement(_message.Message):
    __slots__ = ("ingress", "egress", "traffic_class", "trees")
    INGRESS_FIELD_NUMBER: _ClassVar[int]
    EGRESS_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_CLASS_FIELD_NUMBER: _ClassVar[int]
    TREES_FIELD_NUMBER: _ClassVar[int]
    ingress: str
    egress: _containers.RepeatedScalarFieldContainer[str]
    traffic_class: str
    trees: _containers.RepeatedCompositeFieldContainer[TreeWeight]
    def __init__(self, ingress: _Optional[str] = ..., egress: _Optional[_Iterable[str]] = ..., traffic_class: _Optional[str] = ..., trees: _Optional[_Iterable[_Union[TreeWeight, _Mapping]]] = ...) -> None: ...

class TreeWeight(_message.Message):
    __slots__ = ("tree", "weight", "path")
    TREE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    tree: int
    weight: int
    path: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, tree: _Optional[int] = ..., weight: _Optional[int] = ..., path: _Optional[_Iterable[str]] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("id", "certificate", "placements", "committed")
    ID_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    PLACEMENTS_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    id: int
    certificate: Certificate
    placements: _containers.RepeatedCompositeFieldContainer[Placement]
    committed: bool
    def __init__(self, id: _Optional[int] = ..., certificate: _Optional[_Union[Certificate, _Mapping]] = ..., placements: _Optional[_Iterable[_Union[Placement, _Mapping]]] = ..., committed: bool = ...) -> None: ...

class Certificate(_message.Message):
    __slots__ = ("strategy", "solver", "mlu", "bound", "gap", "seconds", "churn", "moved", "proof", "failure")
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    SOLVER_FIELD_NUMBER: _ClassVar[int]
    MLU_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    CHURN_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    strategy: str
    solver: str
    mlu: float
    bound: float
    gap: float
    seconds: float
    churn: _containers.RepeatedCompositeFieldContainer[Churn]
    moved: float
    proof: str
    failure: FailureCertificate
    def __init__(self, strategy: _Optional[str] = ..., solver: _Optional[str] = ..., mlu: _Optional[float] = ..., bound: _Optional[float] = ..., gap: _Optional[float] = ..., seconds: _Optional[float] = ..., churn: _Optional[_Iterable[_Union[Churn, _Mapping]]] = ..., moved: _Optional[float] = ..., proof: _Optional[str] = ..., failure: _Optional[_Union[FailureCertificate, _Mapping]] = ...) -> None: ...

class Churn(_message.Message):
    __slots__ = ("moved", "mlu")
    MOVED_FIELD_NUMBER: _ClassVar[int]
    MLU_FIELD_NUMBER: _ClassVar[int]
    moved: float
    mlu: float
    def __init__(self, moved: _Optional[float] = ..., mlu: _Optional[float] = ...) -> None: ...

class FailureCertificate(_message.Message):
    __slots__ = ("name", "mlu", "bound", "cut_off_bps")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MLU_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    CUT_OFF_BPS_FIELD_NUMBER: _ClassVar[int]
    name: str
    mlu: float
    bound: float
    cut_off_bps: float
    def __init__(self, name: _Optional[str] = ..., mlu: _Optional[float] = ..., bound: _Optional[float] = ..., cut_off_bps: _Optional[float] = ...) -> None: ...

class GetWiringRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WiredLink(_message.Message):
    __slots__ = ("link", "a", "b", "state", "detail", "seen", "barred")
    LINK_FIELD_NUMBER: _ClassVar[int]
    A_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    SEEN_FIELD_NUMBER: _ClassVar[int]
    BARRED_FIELD_NUMBER: _ClassVar[int]
    link: str
    a: str
    b: str
    state: str
    detail: str
    seen: _containers.RepeatedCompositeFieldContainer[Cable]
    barred: bool
    def __init__(self, link: _Optional[str] = ..., a: _Optional[str] = ..., b: _Optional[str] = ..., state: _Optional[str] = ..., detail: _Optional[str] = ..., seen: _Optional[_Iterable[_Union[Cable, _Mapping]]] = ..., barred: bool = ...) -> None: ...

class Cable(_message.Message):
    __slots__ = ("a", "b")
    A_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    a: str
    b: str
    def __init__(self, a: _Optional[str] = ..., b: _Optional[str] = ...) -> None: ...

class SuspectedSwap(_message.Message):
    __slots__ = ("a", "b", "far", "text")
    A_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    FAR_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    a: str
    b: str
    far: _containers.RepeatedScalarFieldContainer[str]
    text: str
    def __init__(self, a: _Optional[str] = ..., b: _Optional[str] = ..., far: _Optional[_Iterable[str]] = ..., text: _Optional[str] = ...) -> None: ...

class IgnoredFrames(_message.Message):
    __slots__ = ("where", "why", "frames")
    WHERE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    where: str
    why: str
    frames: int
    def __init__(self, where: _Optional[str] = ..., why: _Optional[str] = ..., frames: _Optional[int] = ...) -> None: ...

class Wiring(_message.Message):
    __slots__ = ("time", "links", "unexpected", "swaps", "ignored", "shed_frames", "probed_ports", "round_s")
    TIME_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    UNEXPECTED_FIELD_NUMBER: _ClassVar[int]
    SWAPS_FIELD_NUMBER: _ClassVar[int]
    IGNORED_FIELD_NUMBER: _ClassVar[int]
    SHED_FRAMES_FIELD_NUMBER: _ClassVar[int]
    PROBED_PORTS_FIELD_NUMBER: _ClassVar[int]
    ROUND_S_FIELD_NUMBER: _ClassVar[int]
    time: _timestamp_pb2.Timestamp
    links: _containers.RepeatedCompositeFieldContainer[WiredLink]
    unexpected: _containers.RepeatedCompositeFieldContainer[Cable]
    swaps: _containers.RepeatedCompositeFieldContainer[SuspectedSwap]
    ignored: _containers.RepeatedCompositeFieldContainer[IgnoredFrames]
    shed_frames: int
    probed_ports: int
    round_s: float
    def __init__(self, time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., links: _Optional[_Iterable[_Union[WiredLink, _Mapping]]] = ..., unexpected: _Optional[_Iterable[_Union[Cable, _Mapping]]] = ..., swaps: _Optional[_Iterable[_Union[SuspectedSwap, _Mapping]]] = ..., ignored: _Optional[_Iterable[_Union[IgnoredFrames, _Mapping]]] = ..., shed_frames: _Optional[int] = ..., probed_ports: _Optional[int] = ..., round_s: _Optional[float] = ...) -> None: ...

class GetClassesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Classes(_message.Message):
    __slots__ = ("classes", "switches")
    CLASSES_FIELD_NUMBER: _ClassVar[int]
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    classes: _containers.RepeatedCompositeFieldContainer[TrafficClass]
    switches: _containers.RepeatedCompositeFieldContainer[SwitchQueues]
    def __init__(self, classes: _Optional[_Iterable[_Union[TrafficClass, _Mapping]]] = ..., switches: _Optional[_Iterable[_Union[SwitchQueues, _Mapping]]] = ...) -> None: ...

class TrafficClass(_message.Message):
    __slots__ = ("name", "dscps", "queue", "share", "ceiling", "priority", "lossless")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DSCPS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    CEILING_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    LOSSLESS_FIELD_NUMBER: _ClassVar[int]
    name: str
    dscps: _containers.RepeatedScalarFieldContainer[int]
    queue: int
    share: float
    ceiling: float
    priority: int
    lossless: bool
    def __init__(self, name: _Optional[str] = ..., dscps: _Optional[_Iterable[int]] = ..., queue: _Optional[int] = ..., share: _Optional[float] = ..., ceiling: _Optional[float] = ..., priority: _Optional[int] = ..., lossless: bool = ...) -> None: ...

class SwitchQueues(_message.Message):
    __slots__ = ("switch", "state", "detail", "ignores_queues")
    SWITCH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    IGNORES_QUEUES_FIELD_NUMBER: _ClassVar[int]
    switch: str
    state: str
    detail: str
    ignores_queues: bool
    def __init__(self, switch: _Optional[str] = ..., state: _Optional[str] = ..., detail: _Optional[str] = ..., ignores_queues: bool = ...) -> None: ...

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SwitchDescription(_message.Message):
    __slots__ = ("manufacturer", "hardware", "software", "serial", "datapath")
    MANUFACTURER_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    DATAPATH_FIELD_NUMBER: _ClassVar[int]
    manufacturer: str
    hardware: str
    software: str
    serial: str
    datapath: str
    def __init__(self, manufacturer: _Optional[str] = ..., hardware: _Optional[str] = ..., software: _Optional[str] = ..., serial: _Optional[str] = ..., datapath: _Optional[str] = ...) -> None: ...

class SwitchStatus(_message.Message):
    __slots__ = ("name", "dpid", "connected", "state", "detail", "peer", "openflow", "connects", "since", "flows", "groups", "messages_sent", "description", "missing_ports", "foreign_entries", "last_error", "last_error_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DPID_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    OPENFLOW_FIELD_NUMBER: _ClassVar[int]
    CONNECTS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_SENT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    MISSING_PORTS_FIELD_NUMBER: _ClassVar[int]
    FOREIGN_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    dpid: int
    connected: bool
    state: str
    detail: str
    peer: str
    openflow: str
    connects: int
    since: _timestamp_pb2.Timestamp
    flows: int
    groups: int
    messages_sent: int
    description: SwitchDescription
    missing_ports: _containers.RepeatedScalarFieldContainer[int]
    foreign_entries: int
    last_error: str
    last_error_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., dpid: _Optional[int] = ..., connected: bool = ..., state: _Optional[str] = ..., detail: _Optional[str] = ..., peer: _Optional[str] = ..., openflow: _Optional[str] = ..., connects: _Optional[int] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., flows: _Optional[int] = ..., groups: _Optional[int] = ..., messages_sent: _Optional[int] = ..., description: _Optional[_Union[SwitchDescription, _Mapping]] = ..., missing_ports: _Optional[_Iterable[int]] = ..., foreign_entries: _Optional[int] = ..., last_error: _Optional[str] = ..., last_error_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Repair(_message.Message):
    __slots__ = ("plan", "heard_time", "gathered_s", "planned_s", "stored_s", "installed_s", "switches", "messages", "optimised_s")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    HEARD_TIME_FIELD_NUMBER: _ClassVar[int]
    GATHERED_S_FIELD_NUMBER: _ClassVar[int]
    PLANNED_S_FIELD_NUMBER: _ClassVar[int]
    STORED_S_FIELD_NUMBER: _ClassVar[int]
    INSTALLED_S_FIELD_NUMBER: _ClassVar[int]
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    OPTIMISED_S_FIELD_NUMBER: _ClassVar[int]
    plan: int
    heard_time: _timestamp_pb2.Timestamp
    gathered_s: float
    planned_s: float
    stored_s: float
    installed_s: float
    switches: int
    messages: int
    optimised_s: float
    def __init__(self, plan: _Optional[int] = ..., heard_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., gathered_s: _Optional[float] = ..., planned_s: _Optional[float] = ..., stored_s: _Optional[float] = ..., installed_s: _Optional[float] = ..., switches: _Optional[int] = ..., messages: _Optional[int] = ..., optimised_s: _Optional[float] = ...) -> None: ...

class RefusedSwitch(_message.Message):
    __slots__ = ("peer", "dpid", "reason", "time")
    PEER_FIELD_NUMBER: _ClassVar[int]
    DPID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    peer: str
    dpid: int
    reason: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, peer: _Optional[str] = ..., dpid: _Optional[int] = ..., reason: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Status(_message.Message):
    __slots__ = ("version", "fabric", "fabric_version", "epoch", "start_time", "switches", "intents_by_state", "plan", "metrics_enabled", "problems", "time", "processes", "repairs", "drains", "refused", "topology")
    class IntentsByStateEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class ProcessesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FABRIC_FIELD_NUMBER: _ClassVar[int]
    FABRIC_VERSION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    INTENTS_BY_STATE_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    METRICS_ENABLED_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    REPAIRS_FIELD_NUMBER: _ClassVar[int]
    DRAINS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_FIELD_NUMBER: _ClassVar[int]
    version: str
    fabric: str
    fabric_version: int
    epoch: int
    start_time: _timestamp_pb2.Timestamp
    switches: _containers.RepeatedCompositeFieldContainer[SwitchStatus]
    intents_by_state: _containers.ScalarMap[str, int]
    plan: Plan
    metrics_enabled: bool
    problems: _containers.RepeatedScalarFieldContainer[str]
    time: _timestamp_pb2.Timestamp
    processes: _containers.ScalarMap[str, str]
    repairs: _containers.RepeatedCompositeFieldContainer[Repair]
    drains: _containers.RepeatedCompositeFieldContainer[Drain]
    refused: _containers.RepeatedCompositeFieldContainer[RefusedSwitch]
    topology: TopologyStatus
    def __init__(self, version: _Optional[str] = ..., fabric: _Optional[str] = ..., fabric_version: _Optional[int] = ..., epoch: _Optional[int] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., switches: _Optional[_Iterable[_Union[SwitchStatus, _Mapping]]] = ..., intents_by_state: _Optional[_Mapping[str, int]] = ..., plan: _Optional[_Union[Plan, _Mapping]] = ..., metrics_enabled: bool = ..., problems: _Optional[_Iterable[str]] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., processes: _Optional[_Mapping[str, str]] = ..., repairs: _Optional[_Iterable[_Union[Repair, _Mapping]]] = ..., drains: _Optional[_Iterable[_Union[Drain, _Mapping]]] = ..., refused: _Optional[_Iterable[_Union[RefusedSwitch, _Mapping]]] = ..., topology: _Optional[_Union[TopologyStatus, _Mapping]] = ...) -> None: ...

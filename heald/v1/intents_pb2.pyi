import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class IntentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INTENT_STATE_UNSPECIFIED: _ClassVar[IntentState]
    PENDING: _ClassVar[IntentState]
    PLANNED: _ClassVar[IntentState]
    INSTALLING: _ClassVar[IntentState]
    ACTIVE: _ClassVar[IntentState]
    DEGRADED: _ClassVar[IntentState]
    REJECTED: _ClassVar[IntentState]
    WITHDRAWING: _ClassVar[IntentState]
    GONE: _ClassVar[IntentState]
INTENT_STATE_UNSPECIFIED: IntentState
PENDING: IntentState
PLANNED: IntentState
INSTALLING: IntentState
ACTIVE: IntentState
DEGRADED: IntentState
REJECTED: IntentState
WITHDRAWING: IntentState
GONE: IntentState

class Selector(_message.Message):
    __slots__ = ("all", "hosts", "nics", "accelerators", "match_labels")
    class MatchLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ALL_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    NICS_FIELD_NUMBER: _ClassVar[int]
    ACCELERATORS_FIELD_NUMBER: _ClassVar[int]
    MATCH_LABELS_FIELD_NUMBER: _ClassVar[int]
    all: bool
    hosts: _containers.RepeatedScalarFieldContainer[str]
    nics: _containers.RepeatedScalarFieldContainer[str]
    accelerators: _containers.RepeatedScalarFieldContainer[str]
    match_labels: _containers.ScalarMap[str, str]
    def __init__(self, all: bool = ..., hosts: _Optional[_Iterable[str]] = ..., nics: _Optional[_Iterable[str]] = ..., accelerators: _Optional[_Iterable[str]] = ..., match_labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Connectivity(_message.Message):
    __slots__ = ("endpoints",)
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    endpoints: Selector
    def __init__(self, endpoints: _Optional[_Union[Selector, _Mapping]] = ...) -> None: ...

class PointToPoint(_message.Message):
    __slots__ = ("source", "destination", "rate_bps", "traffic_class", "max_latency_s", "include", "avoid", "protection", "bidirectional", "udp_source_ports", "priority", "on_shortage")
    class Protection(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NONE: _ClassVar[PointToPoint.Protection]
        LINK: _ClassVar[PointToPoint.Protection]
        NODE: _ClassVar[PointToPoint.Protection]
        SRLG: _ClassVar[PointToPoint.Protection]
    NONE: PointToPoint.Protection
    LINK: PointToPoint.Protection
    NODE: PointToPoint.Protection
    SRLG: PointToPoint.Protection
    class OnShortage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REJECT: _ClassVar[PointToPoint.OnShortage]
        DEGRADE: _ClassVar[PointToPoint.OnShortage]
    REJECT: PointToPoint.OnShortage
    DEGRADE: PointToPoint.OnShortage
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    RATE_BPS_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_CLASS_FIELD_NUMBER: _ClassVar[int]
    MAX_LATENCY_S_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    AVOID_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    BIDIRECTIONAL_FIELD_NUMBER: _ClassVar[int]
    UDP_SOURCE_PORTS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    ON_SHORTAGE_FIELD_NUMBER: _ClassVar[int]
    source: Selector
    destination: Selector
    rate_bps: float
    traffic_class: str
    max_latency_s: float
    include: _containers.RepeatedScalarFieldContainer[str]
    avoid: _containers.RepeatedScalarFieldContainer[str]
    protection: PointToPoint.Protection
    bidirectional: bool
    udp_source_ports: _containers.RepeatedScalarFieldContainer[int]
    priority: int
    on_shortage: PointToPoint.OnShortage
    def __init__(self, source: _Optional[_Union[Selector, _Mapping]] = ..., destination: _Optional[_Union[Selector, _Mapping]] = ..., rate_bps: _Optional[float] = ..., traffic_class: _Optional[str] = ..., max_latency_s: _Optional[float] = ..., include: _Optional[_Iterable[str]] = ..., avoid: _Optional[_Iterable[str]] = ..., protection: _Optional[_Union[PointToPoint.Protection, str]] = ..., bidirectional: bool = ..., udp_source_ports: _Optional[_Iterable[int]] = ..., priority: _Optional[int] = ..., on_shortage: _Optional[_Union[PointToPoint.OnShortage, str]] = ...) -> None: ...

class IntentSpec(_message.Message):
    __slots__ = ("connectivity", "point_to_point")
    CONNECTIVITY_FIELD_NUMBER: _ClassVar[int]
    POINT_TO_POINT_FIELD_NUMBER: _ClassVar[int]
    connectivity: Connectivity
    point_to_point: PointToPoint
    def __init__(self, connectivity: _Optional[_Union[Connectivity, _Mapping]] = ..., point_to_point: _Optional[_Union[PointToPoint, _Mapping]] = ...) -> None: ...

class IntentStatus(_message.Message):
    __slots__ = ("state", "reason", "message", "observed_generation", "plan", "transition_time")
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_GENERATION_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_TIME_FIELD_NUMBER: _ClassVar[int]
    state: IntentState
    reason: str
    message: str
    observed_generation: int
    plan: int
    transition_time: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[IntentState, str]] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., observed_generation: _Optional[int] = ..., plan: _Optional[int] = ..., transition_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Intent(_message.Message):
    __slots__ = ("name", "labels", "spec", "generation", "etag", "create_time", "update_time", "status")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    name: str
    labels: _containers.ScalarMap[str, str]
    spec: IntentSpec
    generation: int
    etag: str
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    status: IntentStatus
    def __init__(self, name: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., spec: _Optional[_Union[IntentSpec, _Mapping]] = ..., generation: _Optional[int] = ..., etag: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., status: _Optional[_Union[IntentStatus, _Mapping]] = ...) -> None: ...

class ApplyRequest(_message.Message):
    __slots__ = ("intents", "validate_only", "request_id")
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    validate_only: bool
    request_id: str
    def __init__(self, intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., validate_only: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class ApplyResponse(_message.Message):
    __slots__ = ("intents", "revision")
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    revision: int
    def __init__(self, intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class DeleteIntentRequest(_message.Message):
    __slots__ = ("name", "etag", "validate_only", "request_id", "allow_missing")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ALLOW_MISSING_FIELD_NUMBER: _ClassVar[int]
    name: str
    etag: str
    validate_only: bool
    request_id: str
    allow_missing: bool
    def __init__(self, name: _Optional[str] = ..., etag: _Optional[str] = ..., validate_only: bool = ..., request_id: _Optional[str] = ..., allow_missing: bool = ...) -> None: ...

class GetIntentRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListIntentsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token", "match_labels")
    class MatchLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MATCH_LABELS_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    match_labels: _containers.ScalarMap[str, str]
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., match_labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ListIntentsResponse(_message.Message):
    __slots__ = ("intents", "next_page_token", "revision")
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    next_page_token: str
    revision: int
    def __init__(self, intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class WatchIntentsRequest(_message.Message):
    __slots__ = ("parent", "resume_revision")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    RESUME_REVISION_FIELD_NUMBER: _ClassVar[int]
    parent: str
    resume_revision: int
    def __init__(self, parent: _Optional[str] = ..., resume_revision: _Optional[int] = ...) -> None: ...

class IntentEvent(_message.Message):
    __slots__ = ("kind", "intent", "revision")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[IntentEvent.Kind]
        CHANGED: _ClassVar[IntentEvent.Kind]
        DELETED: _ClassVar[IntentEvent.Kind]
        SYNCED: _ClassVar[IntentEvent.Kind]
    KIND_UNSPECIFIED: IntentEvent.Kind
    CHANGED: IntentEvent.Kind
    DELETED: IntentEvent.Kind
    SYNCED: IntentEvent.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    kind: IntentEvent.Kind
    intent: Intent
    revision: int
    def __init__(self, kind: _Optional[_Union[IntentEvent.Kind, str]] = ..., intent: _Optional[_Union[Intent, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class ExplainIntentRequest(_message.Message):
    __slots__ = ("name", "source", "destination")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    source: str
    destination: str
    def __init__(self, name: _Optional[str] = ..., source: _Optional[str] = ..., destination: _Optional[str] = ...) -> None: ...

class Hop(_message.Message):
    __slots__ = ("switch", "port", "link", "next_switch", "capacity_bps", "reserved_bps", "latency_s", "up")
    SWITCH_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    NEXT_SWITCH_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_BPS_FIELD_NUMBER: _ClassVar[int]
    RESERVED_BPS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_S_FIELD_NUMBER: _ClassVar[int]
    UP_FIELD_NUMBER: _ClassVar[int]
    switch: str
    port: int
    link: str
    next_switch: str
    capacity_bps: float
    reserved_bps: float
    latency_s: float
    up: bool
    def __init__(self, switch: _Optional[str] = ..., port: _Optional[int] = ..., link: _Optional[str] = ..., next_switch: _Optional[str] = ..., capacity_bps: _Optional[float] = ..., reserved_bps: _Optional[float] = ..., latency_s: _Optional[float] = ..., up: bool = ...) -> None: ...

class FlowExplanation(_message.Message):
    __slots__ = ("source", "destination", "ingress", "udp_source_port", "traffic_class", "path", "backup", "latency_s", "backup_latency_s", "asked_bps", "reserved_bps", "asked_protection", "protection", "reason", "shortage", "binding", "rivals")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DESTINATION_FIELD_NUMBER: _ClassVar[int]
    INGRESS_FIELD_NUMBER: _ClassVar[int]
    UDP_SOURCE_PORT_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_CLASS_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    BACKUP_FIELD_NUMBER: _ClassVar[int]
    LATENCY_S_FIELD_NUMBER: _ClassVar[int]
    BACKUP_LATENCY_S_FIELD_NUMBER: _ClassVar[int]
    ASKED_BPS_FIELD_NUMBER: _ClassVar[int]
    RESERVED_BPS_FIELD_NUMBER: _ClassVar[int]
    ASKED_PROTECTION_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SHORTAGE_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    RIVALS_FIELD_NUMBER: _ClassVar[int]
    source: str
    destination: str
    ingress: str
    udp_source_port: int
    traffic_class: str
    path: _containers.RepeatedCompositeFieldContainer[Hop]
    backup: _containers.RepeatedCompositeFieldContainer[Hop]
    latency_s: float
    backup_latency_s: float
    asked_bps: float
    reserved_bps: float
    asked_protection: PointToPoint.Protection
    protection: PointToPoint.Protection
    reason: str
    shortage: str
    binding: _containers.RepeatedScalarFieldContainer[str]
    rivals: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, source: _Optional[str] = ..., destination: _Optional[str] = ..., ingress: _Optional[str] = ..., udp_source_port: _Optional[int] = ..., traffic_class: _Optional[str] = ..., path: _Optional[_Iterable[_Union[Hop, _Mapping]]] = ..., backup: _Optional[_Iterable[_Union[Hop, _Mapping]]] = ..., latency_s: _Optional[float] = ..., backup_latency_s: _Optional[float] = ..., asked_bps: _Optional[float] = ..., reserved_bps: _Optional[float] = ..., asked_protection: _Optional[_Union[PointToPoint.Protection, str]] = ..., protection: _Optional[_Union[PointToPoint.Protection, str]] = ..., reason: _Optional[str] = ..., shortage: _Optional[str] = ..., binding: _Optional[_Iterable[str]] = ..., rivals: _Optional[_Iterable[str]] = ...) -> None: ...

class Way(_message.Message):
    __slots__ = ("tree", "share", "path")
    TREE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    tree: int
    share: float
    path: _containers.RepeatedCompositeFieldContainer[Hop]
    def __init__(self, tree: _Optional[int] = ..., share: _Optional[float] = ..., path: _Optional[_Iterable[_Union[Hop, _Mapping]]] = ...) -> None: ...

class Spread(_message.Message):
    __slots__ = ("ingress", "egress", "traffic_class", "ways")
    INGRESS_FIELD_NUMBER: _ClassVar[int]
    EGRESS_FIELD_NUMBER: _ClassVar[int]
    TRAFFIC_CLASS_FIELD_NUMBER: _ClassVar[int]
    WAYS_FIELD_NUMBER: _ClassVar[int]
    ingress: str
    egress: _containers.RepeatedScalarFieldContainer[str]
    traffic_class: str
    ways: _containers.RepeatedCompositeFieldContainer[Way]
    def __init__(self, ingress: _Optional[str] = ..., egress: _Optional[_Iterable[str]] = ..., traffic_class: _Optional[str] = ..., ways: _Optional[_Iterable[_Union[Way, _Mapping]]] = ...) -> None: ...

class IntentExplanation(_message.Message):
    __slots__ = ("intent", "plan", "committed", "flows", "spreads", "omitted")
    INTENT_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    SPREADS_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    intent: Intent
    plan: int
    committed: bool
    flows: _containers.RepeatedCompositeFieldContainer[FlowExplanation]
    spreads: _containers.RepeatedCompositeFieldContainer[Spread]
    omitted: int
    def __init__(self, intent: _Optional[_Union[Intent, _Mapping]] = ..., plan: _Optional[int] = ..., committed: bool = ..., flows: _Optional[_Iterable[_Union[FlowExplanation, _Mapping]]] = ..., spreads: _Optional[_Iterable[_Union[Spread, _Mapping]]] = ..., omitted: _Optional[int] = ...) -> None: ...

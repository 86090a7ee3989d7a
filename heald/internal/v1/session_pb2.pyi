from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Hello(_message.Message):
    __slots__ = ("protocol_version", "features", "epoch", "process")
    PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    protocol_version: int
    features: _containers.RepeatedScalarFieldContainer[str]
    epoch: int
    process: str
    def __init__(self, protocol_version: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ..., epoch: _Optional[int] = ..., process: _Optional[str] = ...) -> None: ...

class Credit(_message.Message):
    __slots__ = ("bytes",)
    BYTES_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    def __init__(self, bytes: _Optional[int] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("dpid", "session", "epoch", "plan", "phase", "batch_id", "messages")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    epoch: int
    plan: int
    phase: int
    batch_id: int
    messages: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., epoch: _Optional[int] = ..., plan: _Optional[int] = ..., phase: _Optional[int] = ..., batch_id: _Optional[int] = ..., messages: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Addresses(_message.Message):
    __slots__ = ("gateway_mac", "addresses")
    GATEWAY_MAC_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    gateway_mac: int
    addresses: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, gateway_mac: _Optional[int] = ..., addresses: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Poll(_message.Message):
    __slots__ = ("interval_s",)
    INTERVAL_S_FIELD_NUMBER: _ClassVar[int]
    interval_s: float
    def __init__(self, interval_s: _Optional[float] = ...) -> None: ...

class ReadBack(_message.Message):
    __slots__ = ("dpid", "session")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ...) -> None: ...

class Expect(_message.Message):
    __slots__ = ("switches",)
    class SwitchesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: str
        def __init__(self, key: _Optional[int] = ..., value: _Optional[str] = ...) -> None: ...
    SWITCHES_FIELD_NUMBER: _ClassVar[int]
    switches: _containers.ScalarMap[int, str]
    def __init__(self, switches: _Optional[_Mapping[int, str]] = ...) -> None: ...

class FromBrain(_message.Message):
    __slots__ = ("hello", "credit", "batch", "addresses", "poll", "read_back", "expect")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    POLL_FIELD_NUMBER: _ClassVar[int]
    READ_BACK_FIELD_NUMBER: _ClassVar[int]
    EXPECT_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    credit: Credit
    batch: Batch
    addresses: Addresses
    poll: Poll
    read_back: ReadBack
    expect: Expect
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., batch: _Optional[_Union[Batch, _Mapping]] = ..., addresses: _Optional[_Union[Addresses, _Mapping]] = ..., poll: _Optional[_Union[Poll, _Mapping]] = ..., read_back: _Optional[_Union[ReadBack, _Mapping]] = ..., expect: _Optional[_Union[Expect, _Mapping]] = ...) -> None: ...

class PortState(_message.Message):
    __slots__ = ("dpid", "session", "port", "name", "live", "removed")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LIVE_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    port: int
    name: str
    live: bool
    removed: bool
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., port: _Optional[int] = ..., name: _Optional[str] = ..., live: bool = ..., removed: bool = ...) -> None: ...

class Connected(_message.Message):
    __slots__ = ("dpid", "session", "openflow_version", "peer", "ports")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    OPENFLOW_VERSION_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    openflow_version: int
    peer: str
    ports: _containers.RepeatedCompositeFieldContainer[PortState]
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., openflow_version: _Optional[int] = ..., peer: _Optional[str] = ..., ports: _Optional[_Iterable[_Union[PortState, _Mapping]]] = ...) -> None: ...

class Described(_message.Message):
    __slots__ = ("dpid", "session", "manufacturer", "hardware", "software", "serial", "datapath")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MANUFACTURER_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    DATAPATH_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    manufacturer: str
    hardware: str
    software: str
    serial: str
    datapath: str
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., manufacturer: _Optional[str] = ..., hardware: _Optional[str] = ..., software: _Optional[str] = ..., serial: _Optional[str] = ..., datapath: _Optional[str] = ...) -> None: ...

class Disconnected(_message.Message):
    __slots__ = ("dpid", "session", "reason")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    reason: str
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("peer", "dpid", "reason")
    PEER_FIELD_NUMBER: _ClassVar[int]
    DPID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    peer: str
    dpid: int
    reason: str
    def __init__(self, peer: _Optional[str] = ..., dpid: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Readback(_message.Message):
    __slots__ = ("dpid", "session", "flows", "groups", "meters")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    FLOWS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    METERS_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    flows: _containers.RepeatedScalarFieldContainer[bytes]
    groups: _containers.RepeatedScalarFieldContainer[bytes]
    meters: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., flows: _Optional[_Iterable[bytes]] = ..., groups: _Optional[_Iterable[bytes]] = ..., meters: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ("dpid", "session", "batch_id", "phase")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    batch_id: int
    phase: int
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., batch_id: _Optional[int] = ..., phase: _Optional[int] = ...) -> None: ...

class Failed(_message.Message):
    __slots__ = ("dpid", "session", "batch_id", "phase", "index", "error_type", "error_code", "error")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    ERROR_TYPE_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    batch_id: int
    phase: int
    index: int
    error_type: int
    error_code: int
    error: str
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., batch_id: _Optional[int] = ..., phase: _Optional[int] = ..., index: _Optional[int] = ..., error_type: _Optional[int] = ..., error_code: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class Sample(_message.Message):
    __slots__ = ("dpid", "session", "time_s", "port", "rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "rx_errors", "bucket_group", "bucket_index", "bucket_bytes", "bucket_packets", "queue_port", "queue_id", "queue_bytes", "queue_packets", "queue_errors")
    DPID_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TIME_S_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    RX_BYTES_FIELD_NUMBER: _ClassVar[int]
    TX_BYTES_FIELD_NUMBER: _ClassVar[int]
    RX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    TX_PACKETS_FIELD_NUMBER: _ClassVar[int]
    RX_DROPPED_FIELD_NUMBER: _ClassVar[int]
    TX_DROPPED_FIELD_NUMBER: _ClassVar[int]
    RX_ERRORS_FIELD_NUMBER: _ClassVar[int]
    BUCKET_GROUP_FIELD_NUMBER: _ClassVar[int]
    BUCKET_INDEX_FIELD_NUMBER: _ClassVar[int]
    BUCKET_BYTES_FIELD_NUMBER: _ClassVar[int]
    BUCKET_PACKETS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PORT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_ID_FIELD_NUMBER: _ClassVar[int]
    QUEUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    QUEUE_PACKETS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_ERRORS_FIELD_NUMBER: _ClassVar[int]
    dpid: int
    session: int
    time_s: float
    port: _containers.RepeatedScalarFieldContainer[int]
    rx_bytes: _containers.RepeatedScalarFieldContainer[int]
    tx_bytes: _containers.RepeatedScalarFieldContainer[int]
    rx_packets: _containers.RepeatedScalarFieldContainer[int]
    tx_packets: _containers.RepeatedScalarFieldContainer[int]
    rx_dropped: _containers.RepeatedScalarFieldContainer[int]
    tx_dropped: _containers.RepeatedScalarFieldContainer[int]
    rx_errors: _containers.RepeatedScalarFieldContainer[int]
    bucket_group: _containers.RepeatedScalarFieldContainer[int]
    bucket_index: _containers.RepeatedScalarFieldContainer[int]
    bucket_bytes: _containers.RepeatedScalarFieldContainer[int]
    bucket_packets: _containers.RepeatedScalarFieldContainer[int]
    queue_port: _containers.RepeatedScalarFieldContainer[int]
    queue_id: _containers.RepeatedScalarFieldContainer[int]
    queue_bytes: _containers.RepeatedScalarFieldContainer[int]
    queue_packets: _containers.RepeatedScalarFieldContainer[int]
    queue_errors: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, dpid: _Optional[int] = ..., session: _Optional[int] = ..., time_s: _Optional[float] = ..., port: _Optional[_Iterable[int]] = ..., rx_bytes: _Optional[_Iterable[int]] = ..., tx_bytes: _Optional[_Iterable[int]] = ..., rx_packets: _Optional[_Iterable[int]] = ..., tx_packets: _Optional[_Iterable[int]] = ..., rx_dropped: _Optional[_Iterable[int]] = ..., tx_dropped: _Optional[_Iterable[int]] = ..., rx_errors: _Optional[_Iterable[int]] = ..., bucket_group: _Optional[_Iterable[int]] = ..., bucket_index: _Optional[_Iterable[int]] = ..., bucket_bytes: _Optional[_Iterable[int]] = ..., bucket_packets: _Optional[_Iterable[int]] = ..., queue_port: _Optional[_Iterable[int]] = ..., queue_id: _Optional[_Iterable[int]] = ..., queue_bytes: _Optional[_Iterable[int]] = ..., queue_packets: _Optional[_Iterable[int]] = ..., queue_errors: _Optional[_Iterable[int]] = ...) -> None: ...

class FromSession(_message.Message):
    __slots__ = ("hello", "credit", "connected", "disconnected", "readback", "done", "failed", "port_state", "sample", "described", "refused")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    DISCONNECTED_FIELD_NUMBER: _ClassVar[int]
    READBACK_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    PORT_STATE_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIBED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    hello: Hello
    credit: Credit
    connected: Connected
    disconnected: Disconnected
    readback: Readback
    done: Done
    failed: Failed
    port_state: PortState
    sample: Sample
    described: Described
    refused: Refused
    def __init__(self, hello: _Optional[_Union[Hello, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., connected: _Optional[_Union[Connected, _Mapping]] = ..., disconnected: _Optional[_Union[Disconnected, _Mapping]] = ..., readback: _Optional[_Union[Readback, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., failed: _Optional[_Union[Failed, _Mapping]] = ..., port_state: _Optional[_Union[PortState, _Mapping]] = ..., sample: _Optional[_Union[Sample, _Mapping]] = ..., described: _Optional[_Union[Described, _Mapping]] = ..., refused: _Optional[_Union[Refused, _Mapping]] = ...) -> None: ...

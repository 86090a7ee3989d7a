"""Between the values of ``controller.intents.model`` and the messages of ``heald.v1``.

The store holds the same messages, so that a stored intent outlives changes of this code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from google.protobuf.timestamp_pb2 import Timestamp

from controller.intents.model import (
    Connectivity,
    Intent,
    IntentSpec,
    IntentState,
    IntentStatus,
    OnShortage,
    PointToPoint,
    Protection,
    Selector,
)
from heald.v1 import intents_pb2 as pb


def timestamp(time_s: float) -> Timestamp:
    """To the nearest microsecond: a float of today has no more."""
    message = Timestamp()
    message.FromMicroseconds(round(time_s * 1e6))
    return message


def intent_to_message(intent: Intent) -> pb.Intent:
    status = intent.status
    return pb.Intent(
        name=intent.name,
        labels=intent.labels,
        spec=spec_to_message(intent.spec),
        generation=intent.generation,
        etag=intent.etag,
        create_time=timestamp(intent.create_time_s),
        update_time=timestamp(intent.update_time_s),
        status=pb.IntentStatus(
            state=status.state.value,
            reason=status.reason,
            message=status.message,
            observed_generation=status.observed_generation,
            plan=status.plan,
            transition_time=timestamp(status.transition_time_s),
        ),
    )


def intent_from_message(message: pb.Intent) -> Intent:
    """Of a stored intent, which is valid."""
    status = message.status
    return Intent(
        name=message.name,
        spec=spec_from_message(message.spec),
        labels=dict(message.labels),
        generation=message.generation,
        etag=message.etag,
        create_time_s=message.create_time.ToMicroseconds() / 1e6,
        update_time_s=message.update_time.ToMicroseconds() / 1e6,
        status=IntentStatus(
            state=IntentState(pb.IntentState.Name(status.state)),
            reason=status.reason,
            message=status.message,
            observed_generation=status.observed_generation,
            plan=status.plan,
            transition_time_s=status.transition_time.ToMicroseconds() / 1e6,
        ),
    )


def spec_to_message(spec: IntentSpec) -> pb.IntentSpec:
    if isinstance(spec, Connectivity):
        endpoints = _selector_to_message(spec.endpoints)
        return pb.IntentSpec(connectivity=pb.Connectivity(endpoints=endpoints))
    return pb.IntentSpec(
        point_to_point=pb.PointToPoint(
            source=_selector_to_message(spec.source),
            destination=_selector_to_message(spec.destination),
            rate_bps=spec.rate_bps,
            traffic_class=spec.traffic_class,
            max_latency_s=spec.max_latency_s,
            include=spec.include,
            avoid=spec.avoid,
            protection=spec.protection.name,
            bidirectional=spec.bidirectional,
            udp_source_ports=spec.udp_source_ports,
            priority=spec.priority,
            on_shortage=spec.on_shortage.name,
        )
    )


def spec_from_message(message: pb.IntentSpec) -> IntentSpec:
    """Of a message whose enums are of this version."""
    if message.WhichOneof("kind") == "connectivity":
        return Connectivity(_selector_from_message(message.connectivity.endpoints))
    asked = message.point_to_point
    return PointToPoint(
        source=_selector_from_message(asked.source),
        destination=_selector_from_message(asked.destination),
        rate_bps=asked.rate_bps,
        traffic_class=asked.traffic_class,
        max_latency_s=asked.max_latency_s or None,
        include=tuple(asked.include),
        avoid=tuple(asked.avoid),
        protection=Protection[pb.PointToPoint.Protection.Name(asked.protection)],
        bidirectional=asked.bidirectional,
        udp_source_ports=tuple(asked.udp_source_ports),
        priority=asked.priority,
        on_shortage=OnShortage[pb.PointToPoint.OnShortage.Name(asked.on_shortage)],
    )


def _selector_to_message(chosen: Selector) -> pb.Selector:
    return pb.Selector(
        all=chosen.all,
        hosts=chosen.hosts,
        nics=chosen.nics,
        accelerators=chosen.accelerators,
        match_labels=chosen.match_labels,
    )


def _selector_from_message(message: pb.Selector) -> Selector:
    return Selector(
        all=message.all,
        hosts=tuple(message.hosts),
        nics=tuple(message.nics),
        accelerators=tuple(message.accelerators),
        match_labels=dict(message.match_labels),
    )


def etag_of(labels: Mapping[str, str], spec: IntentSpec) -> str:
    content = pb.Intent(labels=labels, spec=spec_to_message(spec))
    return hashlib.sha256(content.SerializeToString(deterministic=True)).hexdigest()[:16]

"""Whether a request makes sense on this fabric; every fault is reported, each with its field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from controller.fabric.model import Fabric
from controller.intents.kinds import check
from controller.northbound.book import Draft
from controller.northbound.convert import spec_from_message
from controller.northbound.errors import Code, FieldViolation, refuse
from heald.v1 import intents_pb2 as pb

MAX_INTENTS = 1_000
MAX_LABELS = 64
MAX_REQUEST_ID = 128

_ID = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_TENANT = re.compile(f"tenants/({_ID})")
_NAME = re.compile(f"tenants/({_ID})/intents/({_ID})")
_LABEL_KEY = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?)?")
_ID_RULE = "lower-case letters, digits and inner hyphens, at most 63 of them"


def drafts_of(request: pb.ApplyRequest, fabric: Fabric) -> list[Draft]:
    """What an ApplyRequest asks for; raises ServiceError(INVALID_ARGUMENT)."""
    faults = list(_request_id(request.request_id))
    if not request.intents:
        faults.append(FieldViolation("intents", "is empty; give at least one intent"))
    if len(request.intents) > MAX_INTENTS:
        fault = f"has {len(request.intents)} intents; send at most {MAX_INTENTS} at once"
        refuse(Code.INVALID_ARGUMENT, [FieldViolation("intents", fault)])

    drafts: list[Draft] = []
    first: dict[str, int] = {}
    for i, message in enumerate(request.intents):
        path = f"intents[{i}]"
        faults += _name(f"{path}.name", message.name)
        if first.setdefault(message.name, i) != i:
            fault = f"is also the name of intents[{first[message.name]}]; give each its own"
            faults.append(FieldViolation(f"{path}.name", fault))
        faults += _labels(f"{path}.labels", message.labels)
        kind = message.spec.WhichOneof("kind")
        if kind is None:
            kinds = ", ".join(
                f.name for f in pb.IntentSpec.DESCRIPTOR.oneofs_by_name["kind"].fields
            )
            fault = f"says nothing that this version knows; set one of: {kinds}"
            faults.append(FieldViolation(f"{path}.spec", fault))
            continue
        unknown = list(_enums(f"{path}.spec.point_to_point", message.spec.point_to_point))
        if unknown:
            faults += unknown
            continue
        spec = spec_from_message(message.spec)
        for problem in check(spec, fabric):
            field = f"{path}.spec.{kind}" + (f".{problem.path}" if problem.path else "")
            faults.append(FieldViolation(field, problem.message))
        drafts.append(Draft(message.name, dict(message.labels), spec, message.etag, f"{path}.etag"))
    refuse(Code.INVALID_ARGUMENT, faults)
    return drafts


def check_delete(request: pb.DeleteIntentRequest) -> None:
    refuse(
        Code.INVALID_ARGUMENT,
        [*_name("name", request.name), *_request_id(request.request_id)],
    )


def check_request_id(request_id: str) -> None:
    refuse(Code.INVALID_ARGUMENT, list(_request_id(request_id)))


def check_name(name: str) -> None:
    refuse(Code.INVALID_ARGUMENT, list(_name("name", name)))


def tenant_of(parent: str) -> str | None:
    """The tenant that ``tenants/{tenant}`` names, None for all (``tenants/-`` or nothing)."""
    if parent in ("", "tenants/-"):
        return None
    match = _TENANT.fullmatch(parent)
    if not match:
        fault = f"{parent!r} is no tenant; write tenants/default, or tenants/- for all"
        refuse(Code.INVALID_ARGUMENT, [FieldViolation("parent", fault)])
    return parent.removeprefix("tenants/")


def _name(field: str, name: str) -> Iterator[FieldViolation]:
    if not _NAME.fullmatch(name):
        yield FieldViolation(
            field,
            f"{name!r} is no name of an intent; write tenants/default/intents/ID, "
            f"where ID is {_ID_RULE}",
        )


def _request_id(request_id: str) -> Iterator[FieldViolation]:
    if len(request_id) > MAX_REQUEST_ID:
        fault = f"has {len(request_id)} characters; use at most {MAX_REQUEST_ID}, such as a UUID"
        yield FieldViolation("request_id", fault)


def _labels(field: str, labels: Mapping[str, str]) -> Iterator[FieldViolation]:
    rule = "at most 63 letters, digits, '.', '_', '/' and '-', the outer ones letters or digits"
    if len(labels) > MAX_LABELS:
        yield FieldViolation(field, f"has {len(labels)} labels; use at most {MAX_LABELS}")
        return
    for key, value in sorted(labels.items()):
        if not _LABEL_KEY.fullmatch(key):
            yield FieldViolation(f"{field}[{key}]", f"{key!r} is no key of a label; use {rule}")
        if not _LABEL_VALUE.fullmatch(value):
            yield FieldViolation(f"{field}[{key}]", f"{value!r} is no value of a label; use {rule}")


def _enums(field: str, message: pb.PointToPoint) -> Iterator[FieldViolation]:
    known = {
        "protection": (message.protection, pb.PointToPoint.Protection),
        "on_shortage": (message.on_shortage, pb.PointToPoint.OnShortage),
    }
    for name, (value, enum) in known.items():
        if value not in enum.values():
            choices = ", ".join(enum.keys())
            fault = f"is {value}, which this version does not know; set one of: {choices}"
            yield FieldViolation(f"{field}.{name}", fault)

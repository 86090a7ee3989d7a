"""What was answered under each request_id, so that a request sent twice is done once."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from google.protobuf.message import Message

from controller.northbound.errors import Code, FieldViolation, refuse
from controller.northbound.ports import Principal
from controller.store.contract import Put, Store

KEEP_S = 24 * 3600.0
_RENEW_S = 3600.0
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Receipt:
    """``id`` is of the principal's choice; ``content`` are the bytes of the whole request."""

    principal: Principal
    id: str
    content: bytes

    @property
    def fingerprint(self) -> bytes:
        return hashlib.sha256(self.content).digest()


def receipt_of(
    principal: Principal, request: Message, request_id: str, validate_only: bool
) -> Receipt | None:
    """None for a request that wants none."""
    if not request_id or validate_only:
        return None
    kind = type(request).__name__.encode()
    return Receipt(principal, request_id, kind + request.SerializeToString(deterministic=True))


class Receipts:
    """Receipts under ``prefix``, kept for a day or a little longer."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self._lease: int | None = None
        self._lease_until_s = 0.0

    async def answer(self, receipt: Receipt) -> tuple[bytes, int] | None:
        """The answer to the same request and its revision, None if this is the first.

        Raises ServiceError(INVALID_ARGUMENT) when the id was used for another request.
        """
        found = await self._store.get(self._key(receipt))
        if found is None:
            return None
        if found.value[:_DIGEST_BYTES] != receipt.fingerprint:
            fault = f"{receipt.id!r} was used for another request; give each request its own"
            refuse(Code.INVALID_ARGUMENT, [FieldViolation("request_id", fault)])
        return found.value[_DIGEST_BYTES:], found.revision

    async def write(self, receipt: Receipt, answer: bytes) -> Put:
        """To be put in the transaction that does what is asked."""
        value = receipt.fingerprint + answer
        return Put(self._key(receipt), value, lease=await self._current_lease())

    def _key(self, receipt: Receipt) -> str:
        # Hashed, since both parts are the client's words and of any length.
        text = f"{receipt.principal.name}\0{receipt.id}"
        return self._prefix + hashlib.sha256(text.encode()).hexdigest()

    async def _current_lease(self) -> int:
        """One lease for all receipts of an hour; it outlives the last of them by a day."""
        now_s = asyncio.get_running_loop().time()
        if self._lease is None or now_s >= self._lease_until_s:
            self._lease = await self._store.grant(KEEP_S + _RENEW_S)
            self._lease_until_s = now_s + _RENEW_S
        return self._lease

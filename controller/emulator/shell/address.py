"""Where a controller listens, as Open vSwitch writes it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ControllerAddress:
    """``tls`` is None for plain TCP."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'ssl' if self.tls else 'tcp'}:{host}:{self.port}"


def parse(
    text: str,
    key: Path | None = None,
    certificate: Path | None = None,
    ca: Path | None = None,
) -> ControllerAddress:
    """``tcp:HOST:PORT`` or ``ssl:HOST:PORT``, an IPv6 address in brackets; with ``ssl`` the
    switches' private key and certificate, and that of who signs controllers.

    Without ``ca`` any controller is believed, as a switch that bootstraps its trust does. Raises
    ValueError, and OSError for files that cannot be used.
    """
    kind, _, rest = text.partition(":")
    host, _, port = rest.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if kind not in ("tcp", "ssl") or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is no controller: write tcp:HOST:PORT or ssl:HOST:PORT")
    if kind == "tcp":
        return ControllerAddress(host, int(port))
    if key is None or certificate is None:
        raise ValueError(f"{text}: TLS needs the switches' private key and certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE if ca is None else ssl.CERT_REQUIRED
    if ca is not None:
        context.load_verify_locations(ca)
    context.load_cert_chain(certificate, key)
    return ControllerAddress(host, int(port), context)

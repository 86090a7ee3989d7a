"""TLS with switches: certificates that are exchanged while the controller runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eventlet.green import ssl
from oslo_config import cfg

from apps.flags import ConfigurationError

CHECK_S = 1.0
"""How old what is known of the files may be."""
HANDSHAKE_S = 5.0


class CertificateError(Exception):
    """What is wrong with which file."""


@dataclass(frozen=True, slots=True)
class Files:
    """PEM files. With ``authorities`` a switch must have a certificate that one of them signed."""

    key: Path
    certificate: Path
    authorities: Path | None

    def load(self) -> Any:
        """A context of a server. Raises CertificateError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        named = [path for path in (self.key, self.certificate, self.authorities) if path]
        for path in named:
            try:
                path.read_bytes()
            except OSError as error:
                raise CertificateError(f"{path}: {error.strerror}") from None
        try:
            context.load_cert_chain(self.certificate, self.key)
        except (OSError, ValueError) as error:
            raise CertificateError(
                f"{self.certificate} and {self.key} are no certificate with its private key "
                f"in PEM: {_reason(error)}"
            ) from None
        if self.authorities is not None:
            try:
                context.load_verify_locations(self.authorities)
            except (OSError, ValueError) as error:
                raise CertificateError(
                    f"{self.authorities} is no certificate in PEM: {_reason(error)}"
                ) from None
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def version(self) -> tuple[tuple[int, int, int], ...]:
        """Changes when a file is written, replaced or removed."""
        found = []
        for path in (self.key, self.certificate, self.authorities):
            try:
                status = path.stat() if path else None
            except OSError:
                status = None
            found.append(
                (status.st_mtime_ns, status.st_ino, status.st_size) if status else (0,) * 3
            )
        return tuple(found)


def wanted(conf: cfg.ConfigOpts) -> Files | None:
    """What the command line names; None for plain TCP. Raises ConfigurationError, also when the
    files cannot be used."""
    key, certificate, authorities = conf.ctl_privkey, conf.ctl_cert, conf.ca_certs
    if key is None and certificate is None:
        if authorities is not None or conf.ofp_ssl_listen_port is not None:
            raise ConfigurationError(
                "heald: TLS needs --ctl-privkey and --ctl-cert, the controller's private key and "
                "certificate in PEM (heald run: --tls-key and --tls-certificate); --ca-certs "
                "(--tls-ca) is whom switches must have theirs from"
            )
        return None
    if key is None or certificate is None:
        missing = "--ctl-privkey (heald run: --tls-key)"
        if key is not None:
            missing = "--ctl-cert (heald run: --tls-certificate)"
        raise ConfigurationError(f"heald: TLS needs {missing} too, in PEM")
    if conf.ofp_tcp_listen_port is not None:
        raise ConfigurationError(
            "heald: with --ctl-privkey switches connect by TLS alone: give --ofp-ssl-listen-port "
            "instead of --ofp-tcp-listen-port"
        )
    files = Files(Path(key), Path(certificate), Path(authorities) if authorities else None)
    try:
        files.load()
    except CertificateError as error:
        raise ConfigurationError(f"heald: {error}") from None
    return files


class Certificates:
    """What new connections are secured with: the newest files that can be used. A connection keeps
    what it began with."""

    def __init__(self, files: Files, complain: Callable[[str], None]) -> None:
        """Raises CertificateError. ``complain`` is told of later files that cannot be used."""
        self._files = files
        self._complain = complain
        self._version = files.version()
        self._context = files.load()
        self._checked_s = time.monotonic()

    def secure(self, socket: Any) -> Any:
        """The connection under TLS, the handshake done; raises OSError when it fails."""
        secured = self._newest().wrap_socket(
            socket, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
        )
        secured.settimeout(HANDSHAKE_S)
        secured.do_handshake()
        return secured

    def _newest(self) -> Any:
        now_s = time.monotonic()
        if now_s - self._checked_s >= CHECK_S:
            self._checked_s = now_s
            version = self._files.version()
            if version != self._version:
                try:
                    self._context = self._files.load()
                except CertificateError as error:
                    self._complain(f"{error}; the certificates from before stay in use")
                self._version = version
        return self._context


def why(error: OSError) -> str:
    """What a failed handshake was about, in words."""
    return f"no TLS: {_reason(error)}"


def _reason(error: Exception) -> str:
    said = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    verified = getattr(error, "verify_message", None)
    text = str(said).lower().replace("_", " ")
    return f"{text}: {verified}" if verified else text or "the connection ended"

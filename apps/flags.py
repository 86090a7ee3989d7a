"""The command line options of `ryu-manager apps.fabric`.

ryu-manager parses its command line before it loads an app, so an app cannot add options. Heald's
hook on the import of `ryu.flags` (heald_compat.pth) calls `register` early enough.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

GROUP = "fabric"
STRATEGIES = (
    "auto",
    "exact",
    *("ecmp", "equal-split", "wcmp", "pop", "ssdo"),
    *("ecmp-hash", "round-robin", "least-loaded"),
    *("protect-link", "protect-node", "protect-srlg"),
)
"""As in ``controller.fabric.model``, which this process does not load."""
EMBEDDED = "embedded"
LISTEN_HOST = "127.0.0.1"
LISTEN_PORT = 6653
LAST_PORT = 65535

_OPTIONS = [
    cfg.StrOpt("topology", metavar="FILE", help="YAML file of the fabric; required when embedded"),
    cfg.StrOpt(
        "northbound",
        default="127.0.0.1:50051",
        metavar="ADDRESS",
        help="where the gRPC API listens: HOST:PORT or unix:PATH (default: 127.0.0.1:50051)",
    ),
    cfg.StrOpt(
        "state-dir",
        metavar="DIR",
        help="where plans and intents are kept "
        "(default: heald/NAME in XDG_STATE_HOME or ~/.local/state, NAME as in NAME.yaml)",
    ),
    cfg.StrOpt(
        "brain",
        default=EMBEDDED,
        metavar="WHERE",
        help="embedded: start a brain of its own (default); "
        "unix:PATH: use the one that listens there",
    ),
    cfg.BoolOpt(
        "metrics",
        default=True,
        help="poll the counters of switches, and let plans follow them (default: on)",
    ),
    cfg.FloatOpt(
        "poll-interval",
        default=1.0,
        min=0.1,
        max=3600.0,
        metavar="SECONDS",
        help="time between two readings of the counters (default: 1)",
    ),
    cfg.StrOpt(
        "strategy",
        choices=STRATEGIES,
        help="how paths are weighted: auto (optimised), exact (by OR-Tools alone), ecmp (equally) "
        "and other baselines, or against single failures: protect-link, -node, -srlg "
        "(default: strategy in the topology file, or auto)",
    ),
]


class ConfigurationError(Exception):
    """What the user has to change; the text is a complete sentence."""


@dataclass(frozen=True, slots=True)
class Options:
    """Checked options. ``brain_socket`` is None when the brain is embedded, and then only the rest,
    ``topology`` to ``strategy``, says how to start it."""

    brain_socket: Path | None
    topology: str
    northbound: str
    state_dir: Path
    metrics: bool
    poll_interval_s: float
    strategy: str | None


def register(conf: cfg.ConfigOpts) -> None:
    """Declare the options; to be called before the command line is parsed, any number of times."""
    group = cfg.OptGroup(
        GROUP,
        title="Heald",
        help="Options of apps.fabric, which also changes two defaults of Ryu: "
        f"--ofp-listen-host is {LISTEN_HOST}, and only port {LISTEN_PORT} is opened.",
    )
    conf.register_group(group)
    conf.register_cli_opts(_OPTIONS, group=group)


def read(conf: cfg.ConfigOpts) -> Options:
    """What the user gave. Raises ConfigurationError."""
    try:
        given = getattr(conf, GROUP)
        brain, topology, state_dir = given.brain, given.topology, given.state_dir
    except cfg.NoSuchOptError:
        raise ConfigurationError(
            "heald: ryu-manager does not know Heald's options, because heald_compat.pth is not in "
            f"the site-packages of {sys.prefix}; install Heald into that environment: pip install ."
        ) from None
    if not math.isfinite(given.poll_interval):
        # oslo.config compares with the bounds, and NaN is neither below nor above.
        raise ConfigurationError(
            f"heald: --fabric-poll-interval {given.poll_interval}: give seconds from 0.1 to 3600"
        )
    socket = None
    if brain != EMBEDDED:
        scheme, _, path = brain.partition(":")
        if scheme != "unix" or not path:
            raise ConfigurationError(
                f"heald: --fabric-brain {brain}: give 'embedded' or 'unix:PATH', "
                "the --session-socket of a running brain"
            )
        socket = Path(path)
    elif not topology:
        raise ConfigurationError(
            "heald: no topology; give the YAML file of the fabric: "
            "ryu-manager apps.fabric --fabric-topology topologies/leaf-spine.yaml"
        )
    return Options(
        brain_socket=socket,
        topology=topology or "",
        northbound=given.northbound,
        state_dir=Path(state_dir).expanduser() if state_dir else _default_state_dir(topology or ""),
        metrics=given.metrics,
        poll_interval_s=given.poll_interval,
        strategy=given.strategy,
    )


def check_ports(conf: cfg.ConfigOpts) -> None:
    """Raises ConfigurationError for a port that is none. Ryu would take 0 for not given."""
    for option in ("ofp_tcp_listen_port", "ofp_ssl_listen_port"):
        port = getattr(conf, option)
        if port is not None and not 1 <= port <= LAST_PORT:
            raise ConfigurationError(
                f"heald: --{option.replace('_', '-')} {port}: give a port from 1 to {LAST_PORT}"
            )


def apply_defaults(conf: cfg.ConfigOpts) -> None:
    """Heald's defaults for options of Ryu; what the user gave stays."""
    conf.set_default("ofp_listen_host", LISTEN_HOST)
    if conf.ctl_privkey is not None:
        conf.set_default("ofp_ssl_listen_port", LISTEN_PORT)
    if conf.ofp_tcp_listen_port is None and conf.ofp_ssl_listen_port is None:
        # With neither set, Ryu opens its port of old, 6633, as well.
        conf.set_default("ofp_tcp_listen_port", LISTEN_PORT)


def _default_state_dir(topology: str) -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    return root / "heald" / (Path(topology).stem or "attached")

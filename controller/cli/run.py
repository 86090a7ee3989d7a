"""``heald run``: start the controller, the same as ``ryu-manager apps.fabric``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from controller.distribution import require_own_packages
from controller.fabric.model import STRATEGIES

_RYU_MODULE = ("-m", "ryu.cmd.manager")


@click.command(
    epilog="""\b
Examples:
  heald run topologies/leaf-spine.yaml
  heald run fabric.yaml --northbound unix:/run/heald/api.sock --listen 10.0.0.1:6653
  heald run fabric.yaml --strategy ecmp --no-metrics
  heald run --brain unix:/run/heald/session.sock
  heald run fabric.yaml -- --verbose --log-file heald.log

What follows -- are options of ryu-manager; `ryu-manager --help` shows them all. Ctrl-C or SIGTERM
stops the controller; switches keep forwarding.
"""
)
@click.argument("topology", required=False, metavar="[TOPOLOGY]")
@click.argument("ryu_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- RYU OPTIONS]")
@click.option(
    "--northbound", metavar="ADDRESS", help="gRPC API: HOST:PORT or unix:PATH [127.0.0.1:50051]"
)
@click.option("--listen", metavar="HOST:PORT", help="Listen here for switches [127.0.0.1:6653]")
@click.option(
    "--state-dir", metavar="DIR", help="Plans and intents are kept here [~/.local/state/heald/NAME]"
)
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    metavar="NAME",
    help=f"How paths are weighted: {', '.join(STRATEGIES)} [as in TOPOLOGY, or auto]",
)
@click.option(
    "--metrics/--no-metrics", default=None, help="Poll counters, and let plans follow them [on]"
)
@click.option("--tls-key", metavar="FILE", help="Switches connect by TLS: the private key in PEM")
@click.option("--tls-certificate", metavar="FILE", help="The certificate that belongs to it")
@click.option(
    "--tls-ca", metavar="FILE", help="Switches must have certificates that this one signed"
)
@click.option("--poll-interval", type=float, metavar="SECONDS", help="Between two polls [1]")
@click.option("--brain", metavar="WHERE", help="embedded, or unix:PATH of a running brain")
def run(
    topology: str | None,
    ryu_options: tuple[str, ...],
    northbound: str | None,
    listen: str | None,
    state_dir: str | None,
    strategy: str | None,
    metrics: bool | None,
    poll_interval: float | None,
    brain: str | None,
    tls_key: str | None,
    tls_certificate: str | None,
    tls_ca: str | None,
) -> None:
    """Start the controller for the fabric that TOPOLOGY describes."""
    require_own_packages()
    if topology is not None and topology.startswith("-"):
        ryu_options = (topology, *ryu_options)
        topology = None
    options = {
        "--fabric-topology": topology,
        "--fabric-northbound": northbound,
        "--fabric-state-dir": state_dir,
        "--fabric-strategy": strategy,
        "--fabric-poll-interval": None if poll_interval is None else str(poll_interval),
        "--fabric-brain": brain,
        "--ctl-privkey": tls_key,
        "--ctl-cert": tls_certificate,
        "--ca-certs": tls_ca,
    }
    arguments = [f"{name}={value}" for name, value in options.items() if value is not None]
    if metrics is not None:
        arguments.append("--fabric-metrics" if metrics else "--fabric-nometrics")
    if listen is not None:
        host, colon, port = listen.rpartition(":")
        if not colon or not port.isdigit():
            raise click.BadParameter(f"{listen}: give HOST:PORT", param_hint="--listen")
        host = host.removeprefix("[").removesuffix("]")
        arguments += [
            f"--ofp-listen-host={host}",
            f"--ofp-{'ssl' if tls_key else 'tcp'}-listen-port={port}",
        ]
    # This process becomes ryu-manager, so that signals and exit codes need no one in between.
    script = Path(sys.executable).with_name("ryu-manager")
    program = [str(script)] if script.exists() else [*_RYU_MODULE]
    os.execv(sys.executable, [sys.executable, *program, "apps.fabric", *arguments, *ryu_options])

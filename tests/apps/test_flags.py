"""The options of the session process, and what is said when they do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from oslo_config import cfg

from apps import flags


def given(*arguments: str) -> flags.Options:
    conf = cfg.ConfigOpts()
    flags.register(conf)
    conf(args=list(arguments), project="heald-test", default_config_files=[])
    return flags.read(conf)


def test_the_defaults_start_an_embedded_brain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    options = given("--fabric-topology", "lab/pod.yaml")
    assert options == flags.Options(
        brain_socket=None,
        topology="lab/pod.yaml",
        northbound="127.0.0.1:50051",
        state_dir=Path("/var/state/heald/pod"),
        metrics=True,
        poll_interval_s=1.0,
        strategy=None,
    )


def test_each_option_is_heard() -> None:
    options = given(
        *("--fabric-topology=a.yaml", "--fabric-northbound=unix:/n", "--fabric-state-dir=/s"),
        *("--fabric-nometrics", "--fabric-poll-interval=0.5", "--fabric-strategy=ecmp"),
    )
    assert options == flags.Options(None, "a.yaml", "unix:/n", Path("/s"), False, 0.5, "ecmp")


def test_an_attached_brain_needs_no_topology() -> None:
    assert given("--fabric-brain=unix:/run/b.sock").brain_socket == Path("/run/b.sock")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "no topology; give the YAML file"),
        (["--fabric-brain=/run/b.sock"], "give 'embedded' or 'unix:PATH'"),
        (["--fabric-brain=unix:"], "give 'embedded' or 'unix:PATH'"),
        (
            ["--fabric-topology=a.yaml", "--fabric-poll-interval=nan"],
            r"nan: give seconds from 0\.1",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_the_cure(arguments: list[str], text: str) -> None:
    with pytest.raises(flags.ConfigurationError, match=text):
        given(*arguments)


def test_options_that_nobody_registered_are_a_broken_installation() -> None:
    conf = cfg.ConfigOpts()
    conf(args=[], project="heald-test", default_config_files=[])
    with pytest.raises(flags.ConfigurationError, match=r"heald_compat.pth .* pip install"):
        flags.read(conf)


@pytest.mark.parametrize(
    ("arguments", "host", "port"),
    [
        ([], "127.0.0.1", 6653),
        (["--ofp-listen-host=::1", "--ofp-tcp-listen-port=7"], "::1", 7),
        (["--ofp-ssl-listen-port=7"], "127.0.0.1", None),
        (["--ctl-privkey=key"], "127.0.0.1", None),
    ],
)
def test_switches_are_awaited_on_loopback_unless_told_otherwise(
    arguments: list[str], host: str, port: int | None
) -> None:
    conf = cfg.ConfigOpts()
    conf.register_cli_opts(
        [
            cfg.StrOpt("ofp-listen-host", default="0.0.0.0"),
            cfg.IntOpt("ofp-tcp-listen-port"),
            cfg.IntOpt("ofp-ssl-listen-port"),
            cfg.StrOpt("ctl-privkey"),
        ]
    )
    conf(args=arguments, project="heald-test", default_config_files=[])
    flags.apply_defaults(conf)
    assert (conf.ofp_listen_host, conf.ofp_tcp_listen_port) == (host, port)


@pytest.mark.parametrize("interval", ["inf", "-inf", "0", "1e9"])
def test_an_interval_out_of_bounds_is_refused(interval: str) -> None:
    with pytest.raises(SystemExit):
        given("--fabric-topology=a.yaml", f"--fabric-poll-interval={interval}")


@pytest.mark.parametrize("option", ["ofp-tcp-listen-port", "ofp-ssl-listen-port"])
@pytest.mark.parametrize("port", [-5, 0, 65536, 99999])
def test_a_port_that_is_none_is_refused(option: str, port: int) -> None:
    conf = cfg.ConfigOpts()
    conf.register_cli_opts([cfg.IntOpt("ofp-tcp-listen-port"), cfg.IntOpt("ofp-ssl-listen-port")])
    conf(args=[f"--{option}={port}"], project="heald-test", default_config_files=[])
    with pytest.raises(flags.ConfigurationError, match=f"--{option} {port}: give a port from 1 to"):
        flags.check_ports(conf)

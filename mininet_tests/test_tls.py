"""Open vSwitch connects by TLS, both ends with certificates."""

from __future__ import annotations

from pathlib import Path

from controller.lab.handle import Lab
from controller.lab.session import LabController
from mininet_tests.running import LEAF_SPINE, connect_everyone

PEM = Path(__file__).parents[1] / "tests" / "emulator" / "tls"


def test_every_switch_of_a_lab_connects_by_tls() -> None:
    with Lab.start(LEAF_SPINE, controller="ssl:127.0.0.1:6653") as lab:
        lab.exec_in_namespace(
            [
                "ovs-vsctl",
                "set-ssl",
                str(PEM / "switch.key"),
                str(PEM / "switch.pem"),
                str(PEM / "controllers-ca.pem"),
            ]
        )
        options = [
            f"--ctl-privkey={PEM / 'controller.key'}",
            f"--ctl-cert={PEM / 'controller.pem'}",
            f"--ca-certs={PEM / 'switches-ca.pem'}",
        ]
        with LabController.start(lab, options=options) as controller:
            controller.wait_ready()
            connect_everyone(controller)
            lab.exec("h1", ["ping", "-c3", "-i0.2", "-W1", lab.address("h8")])

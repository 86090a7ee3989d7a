"""Whether this machine can run a lab: root, Open vSwitch, Mininet, and the tools around them."""

from __future__ import annotations

import importlib.util
import os
import shutil

from controller.lab.errors import LabError

_DEBIAN_PACKAGES = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-ofctl": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-switch",
    "mnexec": "mininet",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "bash": "bash",
}
_SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"


def search_path() -> str:
    """PATH with the system directories, which the PATH of an ordinary user often leaves out."""
    return f"{os.environ.get('PATH', os.defpath)}:{_SYSTEM_PATH}"


def missing() -> str | None:
    """One sentence that says what is missing and how to get it; None if a lab can run here."""
    if os.geteuid() != 0:
        return "A lab needs root for its network namespaces; run it again with sudo."
    path = search_path()
    absent = [tool for tool in _DEBIAN_PACKAGES if shutil.which(tool, path=path) is None]
    if absent:
        packages = " ".join(sorted({_DEBIAN_PACKAGES[tool] for tool in absent}))
        return (
            f"A lab needs {', '.join(absent)}; install with: "
            f"apt-get install --no-install-recommends {packages}"
        )
    if importlib.util.find_spec("mininet") is None:
        return "A lab needs the Python package mininet; install with: pip install 'heald[lab]'"
    return None


def require() -> None:
    """Raise LabError unless a lab can run here."""
    sentence = missing()
    if sentence is not None:
        raise LabError(f"{sentence} Or take emulated switches: heald lab --emulated FILE.")

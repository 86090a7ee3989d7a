#!/usr/bin/env python3
"""Set up a checkout of Heald: uv, the Python environment, and the system's packages for the lab.

Needs nothing but a bare python3 (3.8 or newer; no pip, no venv module). Run it as often as you
like: with everything in place it does nothing and takes well under a second.

    tools/bootstrap.py             all of it
    tools/bootstrap.py --no-lab    without the system packages
    tools/bootstrap.py --only-uv   only fetch uv
    tools/bootstrap.py --check-lab only say what the lab lacks; exit 1 if it lacks anything

Index: UV_DEFAULT_INDEX, UV_INDEX_URL or PIP_INDEX_URL. Certificates: SSL_CERT_FILE or PIP_CERT.
Also heeded: UV_PYTHON (which interpreter), UV_PROJECT_ENVIRONMENT (where the environment goes).
"""

import argparse
import base64
import hashlib
import html.parser
import io
import json
import os
import platform
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path
from typing import Dict, List, NoReturn, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
PYPI = "https://pypi.org/simple"
TOOLS = ROOT / ".tools"
UV = TOOLS / "uv"

# To move to a new uv: its wheels' hashes are on https://pypi.org/project/uv/#files. They are pinned
# here, so it does not matter which index or mirror the file comes from.
UV_VERSION = "0.13.9"
UV_WHEELS: Dict[Tuple[str, str, str], Tuple[str, str]] = {
    ("linux", "x86_64", "glibc"): (
        "uv-0.13.9-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19",
    ),
    ("linux", "x86_64", "musl"): (
        "uv-0.13.9-py3-none-musllinux_1_1_x86_64.whl",
        "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
    ),
    ("linux", "aarch64", "glibc"): (
        "uv-0.13.9-py3-none-manylinux_2_28_aarch64.whl",
        "ecb6028d79dc96fbeafffe5c8af62a7099487ebc05a701e76714eebcffd06375",
    ),
    ("linux", "aarch64", "musl"): (
        "uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
    ),
    ("darwin", "x86_64", ""): (
        "uv-0.13.9-py3-none-macosx_10_12_x86_64.whl",
        "c16ed11e013557536b3e60065f1b912f6407bd6518e041b961e23ef9e6b4fbf5",
    ),
    ("darwin", "arm64", ""): (
        "uv-0.13.9-py3-none-macosx_11_0_arm64.whl",
        "66c512266d633bef48384a1f53003f41f2a8e7b36fe6e7fbfd3e0fd52d96fa63",
    ),
}

# command: the Debian package that has it
LAB_COMMANDS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "ovs-ofctl": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-switch",
    "mnexec": "mininet",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    # Mininet's Python package still calls it.
    "ifconfig": "net-tools",
}
SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


def say(text: str) -> None:
    print("setup: " + text, file=sys.stderr, flush=True)


def fail(text: str) -> NoReturn:
    sys.exit("setup: " + text)


# ---- uv ----


def ensure_uv() -> None:
    stamp = TOOLS / "uv.version"
    if UV.is_file() and stamp.is_file() and stamp.read_text() == UV_VERSION:
        return
    name, sha256 = wheel_of_this_machine()
    say("fetching uv " + UV_VERSION)
    url = find_on_index(name)
    data = fetch(url)[0]
    actual = hashlib.sha256(data).hexdigest()
    if actual != sha256:
        fail(f"{url} has sha256 {actual}, not the pinned {sha256}; nothing was installed.")
    TOOLS.mkdir(exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(data)) as wheel:
        binary = wheel.read(f"uv-{UV_VERSION}.data/scripts/uv")
    # Moved into place whole: another run, or a broken one, never leaves half a file.
    handle, temporary = tempfile.mkstemp(dir=str(TOOLS))
    with os.fdopen(handle, "wb") as file:
        file.write(binary)
    Path(temporary).chmod(0o755)
    Path(temporary).replace(UV)
    stamp.write_text(UV_VERSION)


def wheel_of_this_machine() -> Tuple[str, str]:
    system = platform.system().lower()
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    libc = ""
    if system == "linux":
        libc = "glibc" if platform.libc_ver()[0] == "glibc" else "musl"
    try:
        return UV_WHEELS[system, machine, libc]
    except KeyError:
        fail(
            f"no uv is pinned for {system} {machine} {libc}: put a uv {UV_VERSION} at {UV} and its "
            f"version into {TOOLS / 'uv.version'}, or add its wheel to UV_WHEELS in {__file__}."
        )


def index_url() -> str:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        value = os.environ.get(name, "").strip()
        if value:
            # uv allows "name=https://…"
            return value.split("=", 1)[1] if "=" in value.split("://", 1)[0] else value
    return PYPI


class Links(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: List[str] = []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        if tag == "a":
            self.hrefs += [value for key, value in attrs if key == "href" and value]


def find_on_index(wheel: str) -> str:
    """The address of one file of uv, from the index's JSON (PEP 691) or HTML (PEP 503) page."""
    page = index_url().rstrip("/") + "/uv/"
    data, content_type = fetch(
        page, accept="application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"
    )
    text = data.decode("utf-8", "replace")
    if "json" in content_type:
        urls = [str(file["url"]) for file in json.loads(text)["files"]]
    else:
        links = Links()
        links.feed(text)
        urls = links.hrefs
    for url in urls:
        path = urllib.parse.urlsplit(url).path
        if urllib.parse.unquote(path).rsplit("/", 1)[-1] == wheel:
            return urllib.parse.urljoin(page, url).split("#", 1)[0]
    fail(f"{redacted(page)} does not list {wheel}.")


def fetch(url: str, accept: str = "*/*") -> Tuple[bytes, str]:
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme not in ("https", "http", "file"):
        fail(f"{redacted(url)}: only https, http and file addresses are fetched.")
    headers = {"Accept": accept, "User-Agent": "heald-bootstrap"}
    parts = urllib.parse.urlsplit(url)
    if parts.username:
        name, password = (urllib.parse.unquote(x or "") for x in (parts.username, parts.password))
        token = base64.b64encode(f"{name}:{password}".encode()).decode()
        headers["Authorization"] = f"Basic {token}"
        url = parts._replace(netloc=parts.netloc.rsplit("@", 1)[1]).geturl()
    request = urllib.request.Request(url, headers=headers)
    certificates = os.environ.get("SSL_CERT_FILE") or os.environ.get("PIP_CERT")
    context = ssl.create_default_context(cafile=certificates or None)
    error: object = None
    for _ in range(3):
        try:
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                return answer.read(), answer.headers.get("Content-Type", "")
        except urllib.error.HTTPError as problem:
            error = problem
            if problem.code < 500:
                break
        except OSError as problem:  # URLError, time-outs, broken connections
            error = problem
    fail(
        f"cannot fetch {redacted(url)}: {error}. Behind a proxy set HTTPS_PROXY; with a package "
        "mirror set PIP_INDEX_URL; for certificates install ca-certificates or set SSL_CERT_FILE."
    )


def redacted(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rsplit("@", 1)[-1]).geturl()


# ---- The Python environment ----


def ensure_environment() -> None:
    environment = ROOT / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")
    stamp = environment / ".heald-setup"
    wanted = fingerprint()
    if stamp.is_file() and stamp.read_text() == wanted and (environment / "bin/python").exists():
        return
    env = dict(os.environ)
    # The system's own Python where there is one; uv fetches one only where none fits.
    env.setdefault("UV_PYTHON_PREFERENCE", "system")
    env.pop("VIRTUAL_ENV", None)
    # The machine's certificates, as Python above uses them, and not those compiled into uv.
    env.setdefault("UV_SYSTEM_CERTS", "1")
    if certificates := env.get("PIP_CERT"):
        env.setdefault("SSL_CERT_FILE", certificates)
    # Each process of a controller imports much; compiled once here, it starts three times as fast.
    env.setdefault("UV_COMPILE_BYTECODE", "1")
    say(f"bringing {environment.name} to uv.lock")

    def uv(*arguments: str) -> None:
        if subprocess.run([str(UV), *arguments], cwd=str(ROOT), env=env).returncode:
            fail(
                f"`uv {' '.join(arguments)}` failed (see above). If uv.lock is not up to date, run "
                "`make lock`; if no Python 3.10 to 3.13 was found, install one or point UV_PYTHON "
                "at it."
            )

    if index_url().rstrip("/") == PYPI:
        uv("sync", "--locked", "--all-extras", "--group", "dev")
    else:
        # The lock names PyPI's files, and `uv sync` would rewrite it for a mirror or go to PyPI.
        # So the versions and hashes come from the lock and the files from the mirror.
        env["UV_DEFAULT_INDEX"] = index_url()
        # --python, for UV_PYTHON would send `uv pip` into that interpreter's own site-packages.
        python = str(environment / "bin/python")
        with tempfile.TemporaryDirectory() as directory:
            pinned = str(Path(directory) / "requirements.txt")
            choice = ("--frozen", "--all-extras", "--group", "dev", "--no-emit-project")
            uv("export", "--quiet", *choice, "--output-file", pinned)
            if not Path(python).exists():
                uv("venv", str(environment))
            constraints = ("--build-constraints", "build-constraints.txt")
            uv("pip", "sync", "--python", python, *constraints, pinned)
        uv("pip", "install", "--python", python, "--no-deps", "--editable", ".")
    stamp.write_text(wanted)


def fingerprint() -> str:
    """What the environment is made from, so that an unchanged one is not even looked at."""
    digest = hashlib.sha256(os.environ.get("UV_PYTHON", "").encode())
    files = [ROOT / "pyproject.toml", ROOT / "uv.lock", ROOT / "heald" / "__init__.py"]
    files += sorted((ROOT / "shim").glob("heald_compat.*"))
    files += sorted((ROOT / "topologies").rglob("*.yaml"))
    for file in files:
        digest.update(str(file).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def ensure_kernels() -> None:
    """Compiled now, for whoever runs the set-up; others and later changes compile at first use."""
    environment = ROOT / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")
    stamp = environment / ".heald-kernels"
    digest = hashlib.sha256((ROOT / "uv.lock").read_bytes())
    for file in sorted((ROOT / "controller" / "optimizer" / "kernels").glob("*.py")):
        digest.update(file.read_bytes())
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    say("compiling the optimizer's kernels")
    if subprocess.run([str(environment / "bin/heald"), "warm-up"], stdout=sys.stderr).returncode:
        say("`heald warm-up` failed (see above): plans are made, but take much longer.")
    else:
        stamp.write_text(digest.hexdigest())


# ---- The system's packages ----


def missing_lab_commands() -> List[str]:
    path = os.environ.get("PATH", os.defpath) + ":" + SBIN
    return [command for command in LAB_COMMANDS if shutil.which(command, path=path) is None]


def missing_lab_text(commands: List[str]) -> str:
    packages = sorted({LAB_COMMANDS[command] for command in commands})
    return (
        f"the lab lacks {', '.join(commands)}; install with: "
        f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}"
    )


def ensure_lab() -> None:
    commands = missing_lab_commands()
    if not commands:
        return
    if platform.system() != "Linux":
        say("the lab (Open vSwitch and Mininet) needs Linux; everything else is set up.")
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        say(missing_lab_text(commands))
        return
    packages = sorted({LAB_COMMANDS[command] for command in commands})
    say("installing " + " ".join(packages))
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    with ServicesHeld():
        for command in (["apt-get", "update", "-q"], install):
            code = subprocess.run(command, env=env, stdout=sys.stderr).returncode
            if code and command is install:
                fail(f"`{' '.join(command)}` failed with exit code {code} (see above).")
    commands = missing_lab_commands()
    if commands:
        fail(missing_lab_text(commands))


class ServicesHeld:
    """While packages are installed, Debian starts none of their services (invoke-rc.d's policy).

    The lab runs an Open vSwitch of its own in a private network namespace; the system's stays as
    it is. A policy that the machine already has is left alone.
    """

    policy = Path("/usr/sbin/policy-rc.d")

    def __enter__(self) -> None:
        self.ours = not self.policy.exists()
        if self.ours:
            self.policy.write_text("#!/bin/sh\nexit 101\n")
            self.policy.chmod(0o755)

    def __exit__(self, *_: object) -> None:
        if self.ours:
            self.policy.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-lab", action="store_true", help="leave the system's packages alone")
    parser.add_argument("--only-uv", action="store_true", help="fetch uv and stop")
    parser.add_argument("--check-lab", action="store_true", help="only say what the lab lacks")
    arguments = parser.parse_args()
    if arguments.check_lab:
        lacking = missing_lab_commands()
        if lacking:
            fail(missing_lab_text(lacking))
        return
    ensure_uv()
    if arguments.only_uv:
        return
    ensure_environment()
    ensure_kernels()
    if not arguments.no_lab:
        ensure_lab()


if __name__ == "__main__":
    if sys.version_info < (3, 8):
        fail("needs Python 3.8 or newer to run.")
    main()

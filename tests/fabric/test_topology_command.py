"""``heald topology check``."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from controller.cli.topology import topology
from tests.fabric.samples import GOOD


def check(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(topology, ["check", *arguments], input=stdin)


def test_a_right_file(tmp_path: Path) -> None:
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    result = check(str(file))
    assert result.exit_code == 0
    assert result.output == (
        f"{file}: fabric small is right: 3 switches, 2 hosts, 2 NICs, 0 accelerators, 2 links\n"
    )


def test_all_files_are_checked(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("dpid: 2", "dpid: 1").replace("h2: leaf2:1", "h2: leaf9:1"))
    result = check(str(bad), str(tmp_path / "none.yaml"), str(tmp_path), str(good))
    assert result.exit_code == 2
    lines = result.output.splitlines()
    assert lines[0].startswith(f"{bad}:5:11: datapath id 0x1 is used twice")
    assert lines[1].startswith(f"{bad}:9:7: unknown switch 'leaf9'")
    assert "none.yaml:1:1: cannot be read" in lines[2]
    assert ":1:1: cannot be read" in lines[3]
    assert lines[4].endswith("2 links")


def test_json(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("dpid: 2", "dpid: x"))
    result = check("--json", str(file), "-", stdin=GOOD.encode())
    assert result.exit_code == 2
    bad, good = json.loads(result.output)
    assert (bad["ok"], good["ok"]) == (False, True)
    (problem,) = bad["problems"]
    assert (problem["file"], problem["line"], problem["column"]) == (str(file), 5, 17)
    assert good["summary"]["counts"]["hosts"] == 2


def test_no_bytes_make_a_traceback() -> None:
    for raw in (b"", b"\0\xff" * 99, b"[" * 99999, b"a: \xc3"):
        result = check("-", stdin=raw)
        assert result.exit_code == 2
        assert isinstance(result.exception, SystemExit)
        assert result.output.startswith("<stdin>:1:")
    assert check("/dev/zero").exit_code == 2


def test_help_has_examples() -> None:
    result = CliRunner().invoke(topology, ["check", "--help"])
    assert "heald topology check topologies/leaf-spine.yaml" in result.output

#!/usr/bin/env python3
"""Generate heald/v1 and heald/internal/v1 from proto/.

With --check nothing is written: each file that is not fresh is named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
GENERATED = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py")


def generate(out: Path) -> None:
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
    if not sources:
        sys.exit(f"gen_stubs: no .proto file under {PROTO}")
    well_known = resources.files("grpc_tools") / "_proto"
    code = protoc.main(
        [
            "protoc",
            f"--proto_path={PROTO}",
            f"--proto_path={well_known}",
            f"--python_out={out}",
            f"--pyi_out={out}",
            f"--grpc_python_out={out}",
            *sources,
        ]
    )
    if code:
        sys.exit("gen_stubs: protoc failed (see above)")
    for path in list(out.rglob("*_pb2_grpc.py")):
        # protoc writes a service file for every .proto, also for those without a service.
        if "Stub" not in path.read_text(encoding="utf-8"):
            path.unlink()


def generated_files(root: Path) -> Iterator[Path]:
    for pattern in GENERATED:
        for path in (root / "heald").rglob(pattern):
            yield path.relative_to(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if not fresh")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as directory:
        fresh = Path(directory)
        generate(fresh)
        wanted = set(generated_files(fresh))
        present = set(generated_files(ROOT))
        stale = [
            f"{path}: {'missing' if path not in present else 'differs from proto/'}"
            for path in sorted(wanted)
            if path not in present or (fresh / path).read_bytes() != (ROOT / path).read_bytes()
        ]
        stale += [f"{path}: has no .proto any more" for path in sorted(present - wanted)]
        if check:
            if stale:
                sys.exit("\n".join([*stale, "gen_stubs: run `make stubs` and commit the result"]))
            print(f"gen_stubs: {len(wanted)} files are fresh")
            return
        for path in present - wanted:
            (ROOT / path).unlink()
        for path in wanted:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fresh / path, ROOT / path)
        print(f"gen_stubs: {len(stale)} of {len(wanted)} files changed")


if __name__ == "__main__":
    main()

"""``python -m controller.brain``: the brain as a process of its own; started by ``apps.fabric``."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from controller.fabric.model import STRATEGIES
from heald.distribution import require_own_packages


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m controller.brain",
        description="Plans, stores and orders; session processes attach to its socket "
        "(ryu-manager apps.fabric --fabric-brain unix:PATH).",
    )
    parser.add_argument("--topology", type=Path, required=True, help="YAML file of the fabric")
    parser.add_argument(
        "--session-socket", type=Path, required=True, help="where session processes attach"
    )
    parser.add_argument(
        "--northbound", default="127.0.0.1:50051", help="gRPC: HOST:PORT or unix:PATH"
    )
    parser.add_argument("--state-dir", type=Path, required=True, help="plans and intents")
    parser.add_argument("--strategy", choices=STRATEGIES, help="default: as in the topology file")
    parser.add_argument("--metrics", choices=("on", "off"), default="on")
    parser.add_argument("--poll-interval", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("--parent-pid", type=int, help="end when this process does")
    return parser.parse_args(arguments)


def main() -> int:
    require_own_packages()
    given = _options(sys.argv[1:])
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s"
    )
    from controller.brain import process

    return process.main(
        process.Options(
            topology=given.topology,
            session_socket=given.session_socket,
            northbound=given.northbound,
            state_dir=given.state_dir,
            strategy=given.strategy,
            metrics=given.metrics == "on",
            poll_interval_s=given.poll_interval,
            parent_pid=given.parent_pid,
        )
    )


if __name__ == "__main__":
    sys.exit(main())

"""The start-up check and the shipped data, as the brain and the apps know them.

The code is in `heald.distribution`, since a shadowed `controller` could not check itself.
"""

from heald.distribution import (
    ForeignPackageError,
    check_own_packages,
    require_own_packages,
    topologies_dir,
)

__all__ = [
    "ForeignPackageError",
    "check_own_packages",
    "require_own_packages",
    "topologies_dir",
]

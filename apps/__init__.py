"""The Ryu apps of Heald: the only code that imports ryu."""

from heald.distribution import require_own_packages

# `apps` is a name that other distributions use too; heald.distribution looks for this mark.
__distribution__ = "heald"

# Here and not in each app: with a foreign `controller`, an app fails at its own imports.
require_own_packages()

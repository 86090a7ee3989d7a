"""The brain of Heald: plain Python that never imports ryu or eventlet."""

# `controller` is a name that other distributions use too; heald.distribution looks for this mark.
__distribution__ = "heald"

"""Emulated switches over TCP and TLS: the sockets and the clock that the rest of the room lacks."""

"""The session with one switch, without its socket: orders go out numbered, answers are tied to the
order they belong to, questions of hosts are answered."""

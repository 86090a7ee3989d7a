"""What switches are told over OVSDB (RFC 7047), as OpenFlow has no words for it.

``rows`` says what is read and written, ``bfd`` and ``book`` decide (pure), ``database`` and
``client`` speak with one server through the Open vSwitch project's own library, ``manager`` has one
client for each.
"""

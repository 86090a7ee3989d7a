"""What the tests of topology files share."""

from hypothesis import settings

few = settings(max_examples=40, deadline=None)

GOOD = """\
fabric: small
defaults: {link: {capacity: 100G}, nic: {capacity: 50G}}
switches:
  leaf1: {dpid: 1}
  leaf2: {dpid: 2}
  spine1: {dpid: 0x101}
hosts:
  h1: leaf1:1
  h2: leaf2:1
links:
  - [leaf1:10, spine1:1]
  - [leaf2:10, spine1:2]
"""

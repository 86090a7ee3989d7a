"""Fat trees of k-port switches, as topology files.

Of Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network Architecture"
(SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores, k³/4 hosts.
"""

from __future__ import annotations


def fat_tree(k: int, capacity: str = "100G") -> str:
    """The topology file of a fat tree of ``k``-port switches with a host on every edge port.

    Ports 1 to k/2 of a switch lead down, the rest up; a core's port p leads to pod p - 1. Raises
    ValueError unless ``k`` is even, at least 4 and at most 128.
    """
    if k % 2 or not 4 <= k <= 128:
        raise ValueError(f"a fat tree has switches of an even number of ports, 4 to 128, not {k}")
    half = k // 2
    switches, hosts, links = [], [], []
    for pod in range(k):
        for i in range(half):
            number = pod * half + i + 1
            switches += [
                f"  edge{pod}-{i}: {{role: leaf, pod: pod{pod}, dpid: {number}}}",
                f"  agg{pod}-{i}: {{role: aggregation, pod: pod{pod}, dpid: {0x4000 + number}}}",
            ]
            hosts += [f"  h{pod}-{i}-{j}: edge{pod}-{i}:{j + 1}" for j in range(half)]
            links += [
                f"  - [edge{pod}-{i}:{half + j + 1}, agg{pod}-{j}:{i + 1}]" for j in range(half)
            ]
            links += [
                f"  - [agg{pod}-{i}:{half + j + 1}, core{i * half + j}:{pod + 1}]"
                for j in range(half)
            ]
    switches += [f"  core{i}: {{role: core, dpid: {0x8000 + i + 1}}}" for i in range(half * half)]
    lines = [
        f"fabric: fat-tree-{k}",
        f"defaults: {{link: {{capacity: {capacity}}}, nic: {{capacity: {capacity}}}}}",
        "switches:",
        *switches,
        "hosts:",
        *hosts,
        "links:",
        *links,
    ]
    return "\n".join(lines) + "\n"

"""Runs the framing corpus through the proxies, then the slow clients."""

from edge import slow
from edge.framing import Proxies, check_framing
from harness.check import Check, run_check


def check_edge(check: Check) -> None:
    destination, limits = (
        "edge: { project: edge, logstore: edge, packet: { age: 50ms } }",
        "connections_per_address: 10000",
    )
    gateway = check.gateway(f"  {destination}", f"limits: {{ {limits} }}", sandbox=True)
    proxies = Proxies(check.work, gateway.devices)
    check.programs.add(proxies)
    check_framing(check, gateway, proxies)
    proxies.kill()
    slow.check(check, gateway)
    check.stop(gateway)


run_check("check-edge", check_edge)

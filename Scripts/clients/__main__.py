"""Writes with every client, then compares what the sandbox stored with what was sent."""

import secrets
import socket
from typing import Any

from clients import browser, chromium, elastic, ios, loki, opentelemetry_exporter, sls_sdk, splunk, syslog
from clients.arrivals import Arrivals
from harness.check import Check, run_check

CLIENTS = (sls_sdk, opentelemetry_exporter, elastic, splunk, loki, browser, ios, chromium)
DESTINATIONS = """
  first: { project: first, logstore: "*", packet: { age: 50ms } }
  shop: { project: shop, logstore: "*", packet: { age: 50ms } }
"""


def resolve_localhost() -> None:
    """Makes every name below localhost this machine, which not every resolver does."""
    resolve = socket.getaddrinfo

    def resolve_here(host: Any, *rest: Any, **named: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        return resolve("127.0.0.1" if text and text.endswith(".localhost") else host, *rest, **named)

    socket.getaddrinfo = resolve_here


def check_clients(check: Check) -> None:
    key = secrets.token_hex(15)
    gateway = check.gateway(DESTINATIONS, "devices: { cors: { headers: [x-app-version] } }", sandbox=True)
    # For the client that signs with a key of the gateway's own.
    keys = f"devices: {{ keys: [{{ name: sdk, id: {sls_sdk.IDENTIFIER}, key: {key}, accept: sls }}] }}"
    guarded = check.gateway(DESTINATIONS, keys, data="guarded", sandbox=True)
    resolve_localhost()
    arrivals = Arrivals(gateway, gateway.own_sandbox())
    for client in CLIENTS:
        before = len(arrivals.expected)
        client.write(arrivals)
        check.say(f"{len(arrivals.expected) - before} logs of {client.__doc__}")
    check.say(f"{sls_sdk.sign(guarded, key)} answers to requests that are signed with a key of the gateway")
    check.complaints += arrivals.complaints()
    check.stop(gateway)
    check.stop(guarded)
    syslog.check_daemons(check)


run_check("check-clients", check_clients)

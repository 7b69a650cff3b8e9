"""Writes with every client, then asks the sandbox whether each log arrived once."""

import socket
import sys

import browser
import chromium
import elastic
import ios
import loki
import opentelemetry_exporter
import sls_given_keys
import sls_sdk
import splunk
from arrivals import Arrivals

# Names below localhost are this machine's, which resolvers know or not.
resolve = socket.getaddrinfo


def resolve_localhost(host, *rest, **named):
    text = host.decode() if isinstance(host, bytes) else host
    return resolve("127.0.0.1" if text and text.endswith(".localhost") else host, *rest, **named)


socket.getaddrinfo = resolve_localhost

arrivals = Arrivals()
for client in (sls_sdk, sls_given_keys, opentelemetry_exporter, elastic, splunk, loki, browser, ios, chromium):
    before = len(arrivals.expected)
    said = client.write(arrivals)
    print(f"check-clients: {said or f'{len(arrivals.expected) - before} logs'} of {client.__doc__}")
wrong = arrivals.wrong()
for line in wrong:
    print(f"check-clients: {line}", file=sys.stderr)
sys.exit(1 if wrong else 0)

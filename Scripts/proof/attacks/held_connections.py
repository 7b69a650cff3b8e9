"""Clients that make the gateway hold memory: large answers that they do not read, and heads that never end."""

import contextlib
import gzip
import json
import pathlib
import socket
import time

from harness.gateway import Gateway
from harness.measures import memory
from harness.waiting import wait_until
from proof.clients.device import request
from proof.trial import Trial

MIB = 1 << 20
# MiB: the documented limits (docs/limits.md) of held answers, heads and bodies.
ANSWERS, HEADS, BODIES = 32, 32, 64
# MiB of working memory for the loops, whatever the number of requests; KiB for each connection.
WORK, EACH = 64, 2
ADDRESSES = 20


def silent(port: int, address: str, content: bytes) -> socket.socket:
    """A connection with a small receive buffer, which sends what the server takes and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.bind((address, 0))
    connection.settimeout(30)
    connection.connect(("127.0.0.1", port))
    with contextlib.suppress(OSError):
        connection.sendall(content)
    return connection


def crowd(gateway: Gateway, network: int, kinds: list[bytes], each: int) -> list[socket.socket]:
    """So many clients from each address, which send these in turns."""
    return [
        silent(gateway.devices, f"127.0.{network}.{address + 1}", kinds[(number + address) % len(kinds)])
        for number in range(each)
        for address in range(ADDRESSES)
    ]


def release(gateway: Gateway, clients: list[socket.socket], held: str, who: str) -> None:
    for client in clients:
        client.close()
    wait_until(lambda: device_metric(gateway, held) == 0, what=f"{who}: their memory is not freed")


def bulk(action: dict[str, str], count: int) -> bytes:
    line = json.dumps({"delete": action}, ensure_ascii=False) + "\n"
    # Level 1 compresses less than the ratio at which the gateway refuses a bomb.
    content = gzip.compress(line.encode() * count, 1)
    return request("/holding/_bulk", content, "Content-Encoding: gzip", "Content-Type: application/json")


def readers(trial: Trial, gateway: Gateway) -> None:
    """Clients from many addresses ask for the largest answers and do not read them."""
    # DEL takes six bytes in JSON: without a limit that answer has 60 MB. The next one is just below the limit.
    escaped = bulk({"_index": "\x7f" * 512, "_id": "\x7f" * 512}, 9872)
    asked = [escaped, bulk({"_id": "i" * 320}, 9500), bulk({}, 65_000)]
    since = reset_peak_memory(gateway)
    clients = crowd(gateway, 10, asked, 12 if trial.is_long else 2)
    waiting = wait_until_stable(gateway, "sluice_http_unsent_answer_bytes", "sluice_http_refused_answers_total")
    # Loops handle such bodies at once, so nothing waits with them.
    grown = memory(gateway.process.pid) - since
    allowed = ANSWERS + WORK + EACH * len(clients) / 1024
    trial.at_most(f"readers: {len(clients)} clients hold answers", waiting / MIB, ANSWERS, "MiB", says=True)
    trial.at_most("readers: more memory at most", grown, allowed, "MiB", says=True)
    if trial.is_long:
        dripping(trial, gateway, clients)
    release(gateway, clients, "sluice_http_unsent_answer_bytes", "readers")


def dripping(trial: Trial, gateway: Gateway, clients: list[socket.socket]) -> None:
    """Reading one byte a second keeps no answer: the gateway ends all such clients within two minutes."""
    timeouts = 'sluice_http_timeouts_total{listener="devices",kind="write"}'
    before, ends = gateway.metric(timeouts), time.monotonic() + 120
    while device_metric(gateway, "sluice_http_unsent_answer_bytes") and time.monotonic() < ends:
        for client in clients:
            client.setblocking(False)
            with contextlib.suppress(OSError):
                client.recv(1)
        time.sleep(1)
    ended = gateway.metric(timeouts) - before
    left = device_metric(gateway, "sluice_http_unsent_answer_bytes")
    trial.expect(
        left == 0 and ended > 0, f"readers: {left / MIB:.1f} MiB are held for clients that read a byte a second"
    )
    trial.say(f"readers: {ended:.0f} clients that read a byte a second were ended")


def heads(trial: Trial, gateway: Gateway) -> None:
    """Heads without end from many addresses, and long heads before bodies that stop."""
    long = b"X-Long: " + b"x" * 15_000
    kinds = [
        b"POST /logs/holding HTTP/1.1\r\nHost: gateway\r\n" + long,
        b"POST /logs/holding HTTP/1.1\r\nHost: gateway\r\n" + long + b"\r\nContent-Length: 60000\r\n\r\n[",
    ]
    since = reset_peak_memory(gateway)
    clients = crowd(gateway, 11, kinds, 900 if trial.is_long else 150)
    held = wait_until_stable(gateway, "sluice_http_held_head_bytes", "sluice_http_refused_heads_total")
    refused = device_metric(gateway, "sluice_http_refused_heads_total")
    grown = memory(gateway.process.pid) - since
    trial.expect(refused > 0, f"heads: all {len(clients)} were accepted, with {held / MIB:.0f} MiB")
    trial.say(f"heads: {len(clients)} are unfinished, {refused:.0f} were told to retry")
    trial.at_most("heads: held", held / MIB, HEADS, "MiB", says=True)
    # Clients with a body hold a block for it as well.
    allowed = HEADS + BODIES / 2 + EACH * len(clients) / 1024
    trial.at_most("heads: more memory at most", grown, allowed, "MiB", says=True)
    release(gateway, clients, "sluice_http_held_head_bytes", "heads")


def reset_peak_memory(gateway: Gateway) -> float:
    """Resets the peak memory, and returns the current memory."""
    pathlib.Path(f"/proc/{gateway.process.pid}/clear_refs").write_text("5")
    return memory(gateway.process.pid, "VmRSS")


def device_metric(gateway: Gateway, name: str) -> float:
    return gateway.metric(f'{name}{{listener="devices"}}')


def wait_until_stable(gateway: Gateway, held: str, refused: str) -> float:
    """The largest value of `held` until it and `refused` are stable for two seconds."""
    most, same, last, ends = 0.0, 0, None, time.monotonic() + 120
    while (same < 8 or most == 0) and time.monotonic() < ends:
        now = device_metric(gateway, held), device_metric(gateway, refused)
        most, same, last = max(most, now[0]), same + 1 if now == last else 0, now
        time.sleep(0.25)
    return most

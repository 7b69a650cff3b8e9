"""Clients that send requests and do not read the answers: PORT COUNT SECONDS, counted from the end of standard input.

slowhttptest has slow readers too, but the answers to its few requests fit into a socket's buffer and end at once.
"""

import contextlib
import os
import socket
import sys
import threading
import time

port, count, seconds = map(int, sys.argv[1:])
REQUESTS = b"OPTIONS /logs/edge HTTP/1.1\r\nHost: edge.example\r\n\r\n" * 1000
connections = []
for _ in range(count):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    connections.append(connection)


def end() -> None:
    """Ends the process some seconds after standard input ends."""
    sys.stdin.read()
    time.sleep(seconds)
    os._exit(0)


threading.Thread(target=end).start()
sent = [0] * count
while True:
    for index, connection in enumerate(connections):
        with contextlib.suppress(BlockingIOError):
            sent[index] += connection.send(REQUESTS[sent[index] % len(REQUESTS) :])
    time.sleep(0.005)

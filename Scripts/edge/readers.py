"""Clients that ask and do not listen: PORT COUNT SECONDS, counted from the end of what they are told.

slowhttptest has such too, but its few requests have answers that fit into a socket's buffer, and are over at once.
"""

import os
import socket
import sys
import threading
import time

port, count, seconds = map(int, sys.argv[1:])
asked = b"OPTIONS /logs/edge HTTP/1.1\r\nHost: edge.example\r\n\r\n" * 1000
waiting = []
for _ in range(count):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    connection.connect(("127.0.0.1", port))
    connection.setblocking(False)
    waiting.append([connection, 0])

# Until somebody says that it is enough, then so many seconds more.
threading.Thread(target=lambda: (sys.stdin.read(), time.sleep(seconds), os._exit(0))).start()
while True:
    for place in waiting:
        try:
            place[1] += place[0].send(asked[place[1] % len(asked) :])
        except BlockingIOError:
            pass
    time.sleep(0.005)

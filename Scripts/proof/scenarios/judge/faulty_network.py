"""The network between gateway and SLS: it breaks in several ways, and knows which answers came through."""

import asyncio
import contextlib
import socket
import struct
import threading
import time

# What may be wrong with it. `hang` holds both directions, so that requests may arrive after their sender gave them up;
# `deaf` holds answers only.
MODES = ["refuse", "reset", "hang", "deaf", "cut answers", "cut requests", "slow"]
PIECE = 65536


class Passed:
    """An answer that was passed on whole, and when its request began and it was there."""

    def __init__(self, status, began, ended):
        self.status, self.began, self.ended = status, began, ended


class AnswerReader:
    """Finds the answers in a stream of bytes."""

    def __init__(self):
        self.rest = b""

    def read(self, piece):
        """Status and request id of each answer that is whole now."""
        self.rest += piece
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            lines = self.rest[:end].decode("latin-1").split("\r\n")
            fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
            size = end + 4 + int(fields.get("content-length", "0"))
            if len(self.rest) < size:
                return
            self.rest = self.rest[size:]
            yield int(lines[0].split(" ")[1]), fields.get("x-log-requestid", "")


class Network:
    """Listens on `port` and leads to `target`. What its connections suffer is drawn from `random`."""

    def __init__(self, target, random):
        self.target, self.random, self.mode = target, random, "open"
        self.passed = {}
        self.broken = 0
        self.writers = set()
        self.loop = asyncio.new_event_loop()
        self.changed = asyncio.Event()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.server = self.loop.run_until_complete(asyncio.start_server(self.connected, sock=listener))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def become(self, mode):
        self.loop.call_soon_threadsafe(self.turn, mode)

    def kill(self):
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.finish)
            self.thread.join()
            self.loop.close()

    def finish(self):
        self.server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.call_later(0.05, self.loop.stop)

    def turn(self, mode):
        self.mode = mode
        if mode == "refuse":
            for writer in list(self.writers):
                self.breaks(writer)
        self.changed.set()
        self.changed = asyncio.Event()

    async def connected(self, reader, writer):
        if self.mode == "refuse":
            self.breaks(writer)
            return
        try:
            farther_reader, farther_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            self.breaks(writer)
            return
        both = Pair(self, writer, farther_writer)
        self.writers |= {writer, farther_writer}
        await asyncio.gather(both.requests(reader), both.answers(farther_reader), return_exceptions=True)
        self.writers -= {writer, farther_writer}
        for one in (writer, farther_writer):
            one.close()

    def breaks(self, writer):
        """Ends a connection with a reset."""
        self.broken += 1
        with contextlib.suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async def wait_while(self, *modes):
        while self.mode in modes:
            await self.changed.wait()

    def happens(self, mode, part):
        return self.mode == mode and self.random.random() < part


class Pair:
    """A connection of the gateway, and the one behind it."""

    def __init__(self, network, near, far):
        self.network, self.near, self.far = network, near, far
        self.began = None
        self.is_left = False

    async def requests(self, reader):
        try:
            while piece := await reader.read(PIECE):
                self.began = self.began or time.monotonic()
                await self.network.wait_while("hang")
                await self.passes(piece, self.far, "cut requests")
        finally:
            # Its sender is gone; what it sent arrives all the same.
            self.is_left = True
            if not self.far.is_closing():
                self.far.write_eof()

    async def answers(self, reader):
        answers = AnswerReader()
        try:
            while piece := await reader.read(PIECE):
                await self.network.wait_while("hang", "deaf")
                await self.passes(piece, self.near, "cut answers")
                for status, request_id in answers.read(piece):
                    now = time.monotonic()
                    if not self.is_left:
                        self.network.passed[request_id] = Passed(status, self.began, now)
                    self.began = None
        finally:
            self.near.close()

    async def passes(self, piece, writer, cut):
        network = self.network
        if network.mode == "slow":
            await asyncio.sleep(network.random.uniform(0, 0.2))
        if network.happens(cut, 0.5) or network.happens("reset", 0.3):
            writer.write(piece[: network.random.randrange(len(piece))])
            # Time for the part to leave before the reset overtakes it.
            await asyncio.sleep(0.002)
            for one in (self.near, self.far):
                network.breaks(one)
            raise ConnectionResetError
        writer.write(piece)
        await writer.drain()

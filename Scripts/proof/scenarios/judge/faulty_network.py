"""A network between gateway and SLS that fails in several ways, and records which answers came through."""

import asyncio
import contextlib
import socket
import struct
import threading
import time
import typing
from random import Random

from proof.clients.device import message

# `hang` holds both directions, so that requests may arrive after their sender gave up; `deaf` holds answers only.
MODES = ["refuse", "reset", "hang", "deaf", "cut answers", "cut requests", "slow"]
PIECE = 65536


class PassedAnswer(typing.NamedTuple):
    """An answer that was forwarded completely, with the times when its request began and when it was forwarded."""

    status: int
    began: float
    ended: float


class Network:
    """Forwards connections from `port` to `target`. `random` decides how they fail."""

    def __init__(self, target: int, random: Random) -> None:
        self.target, self.random, self.mode = target, random, "open"
        self.passed: dict[str, PassedAnswer] = {}
        self.broken = 0
        self.writers: set[asyncio.StreamWriter] = set()
        self.loop = asyncio.new_event_loop()
        self.changed = asyncio.Event()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.server = self.loop.run_until_complete(asyncio.start_server(self.connected, sock=listener))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def set_mode(self, mode: str) -> None:
        self.loop.call_soon_threadsafe(self.enter_mode, mode)

    def kill(self) -> None:
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.finish)
            self.thread.join()
            self.loop.close()

    def finish(self) -> None:
        self.server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.call_later(0.05, self.loop.stop)

    def enter_mode(self, mode: str) -> None:
        self.mode = mode
        if mode == "refuse":
            for writer in list(self.writers):
                self.reset_connection(writer)
        self.changed.set()
        self.changed = asyncio.Event()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "refuse":
            self.reset_connection(writer)
            return
        try:
            farther_reader, farther_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            self.reset_connection(writer)
            return
        both = ConnectionPair(self, writer, farther_writer)
        self.writers |= {writer, farther_writer}
        await asyncio.gather(both.requests(reader), both.answers(farther_reader), return_exceptions=True)
        self.writers -= {writer, farther_writer}
        for one in (writer, farther_writer):
            one.close()

    def reset_connection(self, writer: asyncio.StreamWriter) -> None:
        self.broken += 1
        with contextlib.suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async def wait_while(self, *modes: str) -> None:
        while self.mode in modes:
            await self.changed.wait()

    def strikes(self, mode: str, part: float) -> bool:
        return self.mode == mode and self.random.random() < part


class ConnectionPair:
    """A connection of the gateway, and the one to the target."""

    def __init__(self, network: Network, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.network, self.near, self.far = network, near, far
        self.began: float | None = None
        self.is_left = False

    async def requests(self, reader: asyncio.StreamReader) -> None:
        try:
            while piece := await reader.read(PIECE):
                self.began = self.began or time.monotonic()
                await self.network.wait_while("hang")
                await self.forward(piece, self.far, "cut requests")
        finally:
            # The sender is gone. What it sent must still arrive.
            self.is_left = True
            if not self.far.is_closing():
                self.far.write_eof()

    async def answers(self, reader: asyncio.StreamReader) -> None:
        rest = b""
        try:
            while piece := await reader.read(PIECE):
                await self.network.wait_while("hang", "deaf")
                await self.forward(piece, self.near, "cut answers")
                rest += piece
                while answer := message(rest):
                    now, rest = time.monotonic(), rest[answer.end :]
                    if not self.is_left:
                        request = answer.fields.get("x-log-requestid", "")
                        self.network.passed[request] = PassedAnswer(answer.status, self.began or now, now)
                    self.began = None
        finally:
            self.near.close()

    async def forward(self, piece: bytes, writer: asyncio.StreamWriter, cut: str) -> None:
        network = self.network
        if network.mode == "slow":
            await asyncio.sleep(network.random.uniform(0, 0.2))
        if network.strikes(cut, 0.5) or network.strikes("reset", 0.3):
            writer.write(piece[: network.random.randrange(len(piece))])
            # Time for the first part to leave before the reset overtakes it.
            await asyncio.sleep(0.002)
            for one in (self.near, self.far):
                network.reset_connection(one)
            raise ConnectionResetError
        writer.write(piece)
        await writer.drain()

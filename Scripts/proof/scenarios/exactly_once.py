"""After a power cut no sequence number of a lane is used for other logs, which SLS would take for stored."""

import collections
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import random
import re
import shutil
import sqlite3
import time
from collections.abc import Iterable
from random import Random

from harness.encodings import unlz4
from harness.gateway import Gateway, Sandbox
from harness.waiting import wait_until
from proof import queues
from proof.clients.device import message
from proof.clients.writer import Writer, arrivals_by_name, post_together
from proof.disk.recording import Recording
from proof.disk.syscalls import Call, Event
from proof.trial import Trial

HEAD = re.compile(rb"^POST /logstores/\w+/shards/route\?key=(\w+)&seqid=(\d+) .*?\r\nx-log-bodyrawsize: (\d+)", re.S)


@dataclasses.dataclass
class Packet:
    key: str
    sequence: int
    sent: int  # Where the end of its first request was sent.
    answered: int | None = None  # Where the gateway received the first acknowledgement.


class SLSStorage:
    """The sandbox's file of a recording, with its packets by pack id."""

    def __init__(self, directory: pathlib.Path, events: list[Event]) -> None:
        self.directory, self.end = directory, len(events)
        database = sqlite3.connect(directory / "sls.db")
        self.packs = {pack for (pack,) in database.execute("SELECT pack FROM request")}
        database.close()
        self.packets: dict[str, Packet] = {}
        sending: dict[str, bytes] = collections.defaultdict(bytes)
        for index, (moment, call) in enumerate(events):
            if call is None:
                sending.clear()
            elif moment == "begin" and call.name == "sendto":
                self.note_request(index, call, sending)
            elif moment == "end" and call.name == "recvfrom" and call.result > 0 and call.words[0] in sending:
                self.note_answer(index, call, sending)

    def note_request(self, index: int, call: Call, sending: dict[str, bytes]) -> None:
        piece, connection = call.bytes(1), call.words[0]
        if not piece.startswith(b"POST /logstores/") and connection not in sending:
            return
        sending[connection] += piece
        if (pack := self.pack_id(sending[connection])) and pack not in self.packets:
            head = HEAD.match(sending[connection])
            assert head is not None, "the sandbox stored a request without a sequence number"
            key, sequence, _ = head.groups()
            self.packets[pack] = Packet(key.decode(), int(sequence), index)

    def note_answer(self, index: int, call: Call, sending: dict[str, bytes]) -> None:
        answer, pack = call.bytes(1), self.pack_id(sending.pop(call.words[0]))
        # SLS refuses a used sequence number, which acknowledges the packet.
        if pack and (answer.startswith(b"HTTP/1.1 200 ") or b"InvalidSequenceId" in answer):
            self.packets[pack].answered = self.packets[pack].answered or index

    def pack_id(self, request: bytes) -> str | None:
        """The pack id, once the request is complete and if it was ever stored."""
        if not (found := message(request)) or not (start := HEAD.match(request)):
            return None
        content = unlz4(request[found.begin : found.end], int(start[3]))
        return next((pack for pack in self.packs if bytes([len(pack)]) + pack.encode() in content), None)

    def phases(self, syncs: list[int]) -> dict[str, list[int]]:
        """The places of the recording by how far some packet has come."""
        phases: dict[str, list[int]] = collections.defaultdict(list)
        for packet in self.packets.values():
            phases["sealed and not sent"].append(packet.sent)
            phases["sent and not answered"] += range(packet.sent + 1, (packet.answered or self.end) + 1)
            if packet.answered:
                kept = next((index for index in syncs if index > packet.answered), self.end)
                phases["answered and not noted"] += range(packet.answered + 1, kept + 1)
        return phases

    def copy_at(self, place: int, random: Random, target: pathlib.Path) -> pathlib.Path:
        """The sandbox's file at a power cut: all answered packets, and any part of those that were sent."""
        shutil.copytree(self.directory, target)
        likely = random.choice((0, 0.5, 1))
        there = {
            pack for pack, packet in self.packets.items() if packet.answered is not None and packet.answered < place
        }
        there |= {pack for pack, packet in self.packets.items() if packet.sent < place and random.random() < likely}
        database = sqlite3.connect(target / "sls.db")
        for number, pack in database.execute("SELECT id, pack FROM request").fetchall():
            if pack not in there:
                database.execute("DELETE FROM log WHERE request = ?", (number,))
                database.execute("DELETE FROM request WHERE id = ?", (number,))
        close_gaps(database)
        for (key,) in database.execute("SELECT key FROM lane").fetchall():
            numbers = [self.packets[pack].sequence for pack in there if self.packets[pack].key == key]
            if numbers:
                database.execute("UPDATE lane SET sequence = ? WHERE key = ?", (str(max(numbers)), key))
            else:
                database.execute("DELETE FROM lane WHERE key = ?", (key,))
        database.commit()
        database.close()
        return target / "sls.db"


def close_gaps(database: sqlite3.Connection) -> None:
    """Renumbers requests and logs: the sandbox counts by these numbers, so they must have no gaps."""
    last = 0
    for place, (number,) in enumerate(database.execute("SELECT id FROM request ORDER BY id").fetchall(), 1):
        for (log,) in database.execute("SELECT id FROM log WHERE request = ? ORDER BY id", (number,)).fetchall():
            last += 1
            database.execute("UPDATE log SET id = ?, request = ? WHERE id = ?", (last, place, log))
        database.execute("UPDATE request SET id = ?, last_log = ? WHERE id = ?", (place, last, number))


# Packets, the logs that were stored twice by the phase of each cut, and different disks.
CutResults = tuple[int, list[tuple[str, int]], int]

LOGSTORE = "app"


def write_load(random: Random, gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    """Ends while SLS has stored packets whose answers the gateway has not received."""
    # The waiting logs are on the disk after a checkpoint. Their packets are not: they are sealed later.
    gateway.ask("/admin/destinations/app/pause", "POST")
    queues.checkpointed(gateway, lambda: post_together(gateway, writer, 1, LOGSTORE))
    gateway.ask("/admin/destinations/app/resume", "POST")
    gateway.drain(20)
    # A packet is sealed after 50 ms, so that several are in flight at a time, one for each lane.
    sandbox.fault(latency_ms=random.randint(1, 150))
    for _ in range(random.randint(4, 9)):
        post_together(gateway, writer, 1, LOGSTORE)
        time.sleep(random.uniform(0, 0.1))
    gateway.drain(20)
    gateway.drain(20)
    sandbox.fault(hold=True)
    stored = sum(1 for _ in sandbox.logs())
    post_together(gateway, writer, 1, LOGSTORE)
    wait_until(lambda: sum(1 for _ in sandbox.logs()) > stored, 60, "SLS has stored nothing")


def reopen(trial: Trial, recording: Recording, storage: SLSStorage, place: int, phase: str, image: pathlib.Path) -> int:
    """The number of logs that SLS has twice."""
    where = f"{recording.name}, cut at call {place} of {len(recording.events)}, {phase}"
    choices = random.Random(f"{trial.seed} {recording.name} {place}")
    copy = trial.work / f"{image.name}-sls"
    sandbox = trial.sandbox(storage=str(storage.copy_at(place, choices, copy)))
    gateway = trial.gateway(
        sandbox, data=image / "data", settings=recording.settings, destination=recording.destination, token=None
    )
    gateway.ask("/admin/destinations/app/resume", "POST")
    fresh = Writer(choices, "fresh")
    for _ in range(3):
        fresh.post(gateway, logstore=LOGSTORE)
        gateway.drain(20)
    arrivals = arrivals_by_name(trial, sandbox, (recording.writer, fresh), where)
    missing = (recording.promised(place) | fresh.answered) - set(arrivals)
    trial.expect(not missing, f"{where}: {len(missing)} logs never arrived: {sorted(missing)[:3]}")
    trial.expect(len(fresh.answered) == 9, f"{where}: logs posted afterwards were refused")
    twice = sum(count - 1 for count in arrivals.values())
    trial.expect(not twice or recording.durability != "full", f"{where}: {twice} logs were stored twice")
    trial.expect(gateway.is_running, f"{where}: the gateway ended by itself with {gateway.process.poll()}")
    gateway.kill()
    sandbox.kill()
    shutil.rmtree(copy)
    shutil.rmtree(image)
    return twice


def cut(
    trial: Trial, pool: concurrent.futures.ThreadPoolExecutor, number: int, durability: str, count: int
) -> CutResults:
    """Records a run, and cuts the power at this number of places."""
    work, lanes = trial.work / f"sls-{durability}-{number}", trial.random.randint(1, 3)
    work.mkdir()
    run = functools.partial(write_load, random.Random(trial.random.random()))
    sandbox = trial.sandbox(storage=str(work / "sls.db"))
    name, destination = f"once-{durability}-{number}", f", exactly_once: true, lanes: {lanes}"
    recording = Recording(trial, name, None, [run], durability, destination, sandbox)
    storage = SLSStorage(work, recording.events)
    phases = storage.phases([index for index, _ in recording.log_syncs])
    phases["anywhere"] = list(range(len(recording.events)))
    # A cut at the end that leaves only synced data: without syncs, the sealed packets are forgotten.
    chosen = [(len(recording.events), "synced", "with answers on their way")]
    for turn in range(count - 1):
        phase = sorted(phases)[turn % len(phases)]
        chosen.append((trial.random.choice(phases[phase]), trial.random.choice(("kept", "any", "synced")), phase))
    chosen.sort()
    results = [
        pool.submit(reopen, trial, recording, storage, place, phase, image)
        for (_, _, phase), (place, image) in zip(
            chosen, recording.cuts(trial.random, [(place, order) for place, order, _ in chosen])
        )
    ]
    twice = [(phase, result.result()) for (_, _, phase), result in zip(chosen, results)]
    return len(storage.packets), twice, len(recording.images)


def some_twice(runs: Iterable[CutResults]) -> bool:
    return any(logs for _, twice, _ in runs for _, logs in twice)


def check(trial: Trial) -> None:
    count, runs = (20, 3) if trial.is_long else (6, 1)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for durability in ("full", "normal"):
            done = [cut(trial, pool, number, durability, count) for number in range(runs)]
            # Without syncs some logs must be stored twice. On a slow machine, which syncs much, few cuts show it.
            while durability == "normal" and len(done) < runs + 3 and not some_twice(done):
                done.append(cut(trial, pool, len(done), durability, count))
            packets, found, images = zip(*done)
            twice = [each for one in found for each in one]
            phases = collections.Counter(phase for phase, _ in twice)
            told = f"{sum(packets)} packets; {len(twice)} power cuts, {sum(images)} disks differ, {dict(phases)}"
            most = max(logs for _, logs in twice)
            trial.say(f"exactly once, {durability}: {told}; at most {most} logs were stored twice")
            trial.expect(sum(images) > len(twice) / 4, f"exactly once, {durability}: most cuts left the same disk")
            is_seen = durability == "full" or some_twice(done)
            trial.expect(is_seen, "without syncs nothing was stored twice: the check is blind")

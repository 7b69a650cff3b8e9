"""After a power cut no sequence number of a lane is used for other logs, which SLS would take for stored."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import os
import pathlib
import random
import re
import shutil
import time
from random import Random

from harness.gateway import Gateway, Sandbox
from harness.waiting import wait_until
from proof import queues
from proof.clients.device import Device, message
from proof.clients.writer import Writer, arrivals_by_name, post_together
from proof.disk.recording import Recording
from proof.disk.syscalls import Event
from proof.trial import Trial

HEAD = re.compile(rb"^POST /logstores/\w+/shards/route\?key=(\w+)&seqid=(\d+) ")
Lane = tuple[bytes, bytes]


@dataclasses.dataclass
class Packet:
    request: bytes
    sent: int  # Where the end of its first request was sent.
    answered: int | None = None  # Where the gateway received the first acknowledgement.


def lane(request: bytes) -> Lane | None:
    """The lane of a complete request, and its number there: together they name the packet."""
    start = HEAD.match(request)
    return (start[1], start[2]) if start and message(request) else None


class SentPackets:
    """The packets of a recording, in the order in which they were sent."""

    def __init__(self, events: list[Event]) -> None:
        self.end = len(events)
        self.packets: dict[Lane, Packet] = {}
        sending: dict[str, bytes] = {}
        for index, (moment, call) in enumerate(events):
            if call is None:
                sending.clear()
            elif moment == "begin" and call.name == "sendto":
                connection, piece = call.words[0], call.bytes(1)
                if piece.startswith(b"POST /logstores/") or connection in sending:
                    sending[connection] = request = sending.get(connection, b"") + piece
                    if name := lane(request):
                        self.packets.setdefault(name, Packet(request, index))
            elif moment == "end" and call.name == "recvfrom" and call.result > 0 and call.words[0] in sending:
                answer, name = call.bytes(1), lane(sending.pop(call.words[0]))
                # SLS refuses a used sequence number, which acknowledges the packet.
                if name and (answer.startswith(b"HTTP/1.1 200 ") or b"InvalidSequenceId" in answer):
                    self.packets[name].answered = self.packets[name].answered or index

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

    def send_until(self, place: int, random: Random, trial: Trial, sandbox: Sandbox) -> None:
        """Gives SLS what it has at a power cut: all answered packets, and any part of those that were sent."""
        likely = random.choice((0, 0.5, 1))
        with contextlib.closing(Device(sandbox.port)) as device:
            for packet in self.packets.values():
                is_answered = packet.answered is not None and packet.answered < place
                if is_answered or (packet.sent < place and random.random() < likely):
                    device.socket.sendall(packet.request)
                    status, answer = device.answer()
                    trial.expect(status == 200, f"SLS refuses a packet that it had: {status} {answer[:200]!r}")


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


def reopen(trial: Trial, recording: Recording, sent: SentPackets, place: int, phase: str, image: pathlib.Path) -> int:
    """The number of logs that SLS has twice."""
    where = f"{recording.name}, cut at call {place} of {len(recording.events)}, {phase}"
    choices, sandbox = random.Random(f"{trial.seed} {recording.name} {place}"), trial.sandbox()
    sent.send_until(place, choices, trial, sandbox)
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
    shutil.rmtree(image)
    return twice


def cut(
    trial: Trial, pool: concurrent.futures.ThreadPoolExecutor, number: int, durability: str, count: int
) -> tuple[SentPackets, Recording, list[tuple[str, int]]]:
    """Records a run, and cuts the power at this number of places. Returns the logs that were stored twice, by phase."""
    destination = f", exactly_once: true, lanes: {trial.random.randint(1, 3)}"
    run = functools.partial(write_load, random.Random(trial.random.random()))
    recording = Recording(trial, f"once-{durability}-{number}", None, [run], durability, destination)
    sent = SentPackets(recording.events)
    phases = sent.phases([index for index, _ in recording.log_syncs])
    phases["anywhere"] = list(range(len(recording.events)))
    # A cut at the end that leaves only synced data: without syncs, the sealed packets are forgotten.
    chosen = [(len(recording.events), "synced", "with answers on their way")]
    for turn in range(count - 1):
        phase = sorted(phases)[turn % len(phases)]
        chosen.append((trial.random.choice(phases[phase]), trial.random.choice(("kept", "any", "synced")), phase))
    chosen.sort()
    results = [
        pool.submit(reopen, trial, recording, sent, place, phase, image)
        for (_, _, phase), (place, image) in zip(
            chosen, recording.cuts(trial.random, [(place, order) for place, order, _ in chosen])
        )
    ]
    twice = [(phase, result.result()) for (_, _, phase), result in zip(chosen, results)]
    return sent, recording, twice


def check(trial: Trial) -> None:
    count, runs = (20, 3) if trial.is_long else (6, 1)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for durability in ("full", "normal"):
            name = f"exactly once, {durability}"
            done, packets, images = 0, 0, 0
            twice: list[tuple[str, int]] = []
            # Without syncs some logs must be stored twice. On a slow machine, which syncs much, few cuts show it.
            while done < runs or (durability == "normal" and done < runs + 3 and not any(logs for _, logs in twice)):
                sent, recording, found = cut(trial, pool, done, durability, count)
                done, packets, images = done + 1, packets + len(sent.packets), images + len(recording.images)
                twice += found
            phases = collections.Counter(phase for phase, _ in twice)
            told = f"{packets} packets; {len(twice)} power cuts, {images} disks differ, {dict(phases)}"
            trial.say(f"{name}: {told}; at most {max(logs for _, logs in twice)} logs were stored twice")
            trial.expect(images > len(twice) / 4, f"{name}: most cuts left the same disk")
            is_seen = durability == "full" or any(logs for _, logs in twice)
            trial.expect(is_seen, "without syncs nothing was stored twice: the check is blind")

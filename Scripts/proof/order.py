"""A log is on the disk before its 200 leaves: what was synced by then holds it."""

import json
import random
import sqlite3

import calls
import scenes
from machine import Machine


def accepted(machine, work):
    """What the ledger says on a disk that kept only what was synced."""
    directory = work / "synced"
    directory.mkdir(exist_ok=True)
    for file in directory.iterdir():
        file.unlink()
    for name, file in machine.disk.synced.items():
        (directory / name).write_bytes(file.synced)
    try:
        database = sqlite3.connect(directory / "queue.db")
        count = database.execute("SELECT coalesce(sum(accepted), 0) FROM ledger").fetchone()[0]
        database.close()
        return count
    except sqlite3.Error:
        return 0


def unsynced(trial, durability, posts):
    """The number of answers, and how many left before their logs were on the disk."""
    data, file = trial.work / f"order-{durability}", trial.work / f"order-{durability}.calls"
    data.mkdir(mode=0o700)
    machine = Machine(data)
    gateway = trial.gateway(
        scenes.NOWHERE, data=data, settings=f"queue: {{ durability: {durability} }}", before=calls.recording(file)
    )
    writer = scenes.Writer(random.Random(trial.seed))
    for _ in range(posts):
        writer.post(gateway, trial.random.randint(1, 5))
    gateway.kill()
    answers = early = answered = 0
    for moment, call in calls.parse(calls.finished(file, gateway.process)):
        if moment == "begin" and call.name == "sendto" and (names := names_of(call, writer)):
            answered += len(names)
            answers += 1
            early += accepted(machine, trial.work) < answered
        machine.do(moment, call)
    return answers, early


def names_of(call, writer):
    """The logs that this answer is about."""
    head, _, body = call.bytes(1).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 ") or not body.startswith(b'{"receipt"'):
        return None
    return writer.receipts.get(json.loads(body)["receipt"])


def check(trial):
    posts = 200 if trial.is_long else 25
    answers, early = unsynced(trial, "full", posts)
    trial.expect(early == 0, f"{early} of {answers} answers left before their logs were synced")
    trial.expect(answers == posts, f"the trace has {answers} of {posts} answers")
    # The same look must see what is not synced; else it sees nothing.
    count, unsafe = unsynced(trial, "normal", posts)
    trial.expect(unsafe > 0, "without syncs all answers look synced: the check is blind")
    trial.say(f"{answers} answers, all after the sync; with durability normal {unsafe} of {count} were before it")

"""A log, or an operator's change, is on the disk before its 200 leaves: what was synced by then holds it."""

import json
import random
import sqlite3

import calls
import scenes
from machine import Machine


LOGS = "SELECT sum(accepted) FROM ledger"
CHANGES = "SELECT count(*) FROM audit WHERE action IN ('pause', 'resume')"


def synced(machine, work, question):
    """The number that the database gives on a disk that kept only what was synced."""
    directory = work / "synced"
    directory.mkdir(exist_ok=True)
    for file in directory.iterdir():
        file.unlink()
    for name, file in machine.disk.synced.items():
        (directory / name).write_bytes(file.synced)
    try:
        database = sqlite3.connect(directory / "queue.db")
        count = database.execute(question).fetchone()[0] or 0
        database.close()
        return count
    except sqlite3.Error:
        return 0


def unsynced(trial, durability, posts):
    """The number of answers to devices and operators, and how many left before what they tell was on the disk."""
    data, file = trial.work / f"order-{durability}", trial.work / f"order-{durability}.calls"
    data.mkdir(mode=0o700)
    machine = Machine(data)
    settings = f"queue: {{ durability: {durability} }}"
    gateway = trial.gateway(scenes.NOWHERE, data=data, settings=settings, before=calls.recording(file))
    writer, changes = scenes.Writer(random.Random(trial.seed)), posts // 5
    for number in range(posts):
        writer.post(gateway, trial.random.randint(1, 5))
        if number % 5 == 0:
            gateway.ask(f"/admin/destinations/app/{'resume' if number % 2 else 'pause'}", "POST")
    gateway.kill()
    answers = early = answered = changed = 0
    for moment, call in calls.parse(calls.finished(file, gateway.process)):
        if moment == "begin" and call.name == "sendto":
            if names := names_of(call, writer):
                answered += len(names)
                answers += 1
                early += synced(machine, trial.work, LOGS) < answered
            elif b'\r\n\r\n{"settings":' in call.bytes(1):
                changed += 1
                early += synced(machine, trial.work, CHANGES) < changed
        machine.do(moment, call)
    seen, made = (answers, changed), (posts, changes)
    trial.expect(seen == made, f"the trace has {seen} of {made} answers to devices and operators")
    return answers + changed, early


def names_of(call, writer):
    """The logs that this answer is about."""
    head, _, body = call.bytes(1).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 ") or not body.startswith(b'{"receipt"'):
        return None
    return writer.receipts.get(json.loads(body)["receipt"])


def check(trial):
    posts = 200 if trial.is_long else 25
    answers, early = unsynced(trial, "full", posts)
    trial.expect(early == 0, f"{early} of {answers} answers left before what they are about was synced")
    # The same look must see what is not synced; else it sees nothing.
    count, unsafe = unsynced(trial, "normal", posts)
    trial.expect(unsafe > 0, "without syncs all answers look synced: the check is blind")
    trial.say(f"{answers} answers, all after the sync; with durability normal {unsafe} of {count} were before it")

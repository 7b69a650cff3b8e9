"""A gateway that is killed in place of any write, sync, rename or unlink loses nothing it answered for."""

import concurrent.futures
import json
import os
import queue
import stat

import calls
import order
import scenes
from killing import Case, Scene, points

KEEPS_KEYS = f"credentials: {{ encryption_key: {'5a' * 32}, default: {{ from: admin }} }}"
FIRST = {"AccessKeyId": "first-id", "AccessKeySecret": "first-secret"}
SECOND = {"AccessKeyId": "second-id", "AccessKeySecret": "second-secret"}


def scenario(trial):
    """What is interrupted."""
    fresh, backlog = scenes.fresh(trial), scenes.backlog(trial)
    harmed = scenes.damaged(trial, backlog)
    yield Scene("first start", (None, scenes.Writer(trial.random)), first_start, makes_token=True, after=same_token)
    yield Scene("enqueue", fresh, lambda case: [case.writer.post(case.gateway) for _ in range(4)], delivers=False)
    yield Scene("deliver and stop", backlog, deliver)
    yield Scene("exactly once", fresh, deliver, destination=", exactly_once: true")
    yield Scene("checkpoint", fresh, fill, delivers=False, files=("queue.db",))
    yield Scene("rotation", rotated(trial), rotate, settings=KEEPS_KEYS, prepare=give_keys, after=signs_with_the_second)
    yield Scene("salvage", harmed[:2], deliver, gone=frozenset(harmed[2]))
    if trial.is_long:
        yield Scene("salvage with a log", scenes.damaged_behind_log(trial), deliver)
    for version in (1, 4) if trial.is_long else (1,):
        yield Scene(f"migration from {version}", scenes.older(trial, backlog, version), deliver)


def first_start(case):
    case.result = case.gateway.token
    case.writer.post(case.gateway)


def same_token(case):
    mode = stat.S_IMODE((case.data / "admin-token").stat().st_mode)
    case.expect(len(case.gateway.token) == 64 and mode == 0o600, "the admin token is not whole, or others may read it")
    case.expect(case.result in (None, case.gateway.token), "the admin token is another than before")


def deliver(case):
    case.writer.post(case.gateway)
    case.gateway.drained(5)
    case.writer.post(case.gateway)
    case.gateway.stop()


def fill(case):
    # A little more than the 4 MiB after which the log goes into the database.
    for _ in range(3):
        case.writer.post(case.gateway, 36, "large", 40_000)
    # It is answered after the checkpoint.
    case.writer.post(case.gateway)


def rotated(trial):
    data, sandbox = trial.work / "rotated", trial.sandbox()
    give_keys(sandbox)
    gateway = trial.gateway(sandbox, data=data, settings=KEEPS_KEYS)
    push(gateway, FIRST)
    gateway.stop()
    sandbox.kill()
    return data, scenes.Writer(trial.random)


def give_keys(sandbox):
    for key in (FIRST, SECOND):
        given = {"access_key_id": key["AccessKeyId"], "access_key_secret": key["AccessKeySecret"]}
        sandbox.control("POST", "/keys", given)


def push(gateway, key):
    return json.loads(gateway.ask("/admin/credentials/default", "PUT", json.dumps(key).encode()))["fingerprint"]


def rotate(case):
    case.writer.post(case.gateway)
    case.result = push(case.gateway, SECOND)
    # From the answer on nothing else may be needed.
    case.sandbox.control("DELETE", "/keys?access_key_id=first-id")
    case.writer.post(case.gateway)
    case.gateway.drained(5)


def signs_with_the_second(case):
    fingerprint, now = case.result, json.loads(case.gateway.ask("/admin/credentials/default"))["fingerprint"]
    audit = case.gateway.ask("/admin/audit").decode()
    case.expect(fingerprint in (None, now), "a pushed credential is gone although the push was answered")
    case.expect(fingerprint is None or fingerprint in audit, "a push that was answered is not in the audit log")


def sample(trial, all_points, count):
    """An even part of them, another one with each seed."""
    if trial.is_long or len(all_points) <= count:
        return all_points
    begin, step = trial.random.random(), len(all_points) / count
    return [all_points[int((begin + n) * step) % len(all_points)] for n in range(count)]


def check(trial):
    order.check(trial)
    sandboxes = queue.SimpleQueue()
    workers = os.cpu_count() or 2
    for _ in range(workers):
        sandboxes.put(trial.sandbox())

    def attempt(scene, call, number):
        sandbox, where = sandboxes.get(), f"{scene.name}, killed at {call} {number}"
        try:
            case = Case(trial, scene, sandbox, where)
            was_killed = case.run(calls.killing(case.trace, case.paths, call, number))
            case.check()
            return was_killed
        except Exception as error:
            trial.wrong(f"{where}: {type(error).__name__}: {error}")
            return True
        finally:
            sandboxes.put(sandbox)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for scene in scenario(trial):
            sandbox = sandboxes.get()
            found = points(trial, scene, sandbox)
            sandboxes.put(sandbox)
            chosen = sample(trial, found, 12)
            killed = sum(pool.map(lambda point: attempt(scene, *point), chosen))
            trial.say(f"{scene.name}: {len(found)} calls; killed at {killed} of {len(chosen)} that were chosen")
            trial.expect(killed >= len(chosen) / 2, f"{scene.name}: most kills did not happen, which proves nothing")

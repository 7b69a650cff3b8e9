"""Whatever is killed or broken: every answered log arrives as it was, in its order, and where it was promised, once."""

from judge.books import Books
from judge.sitting import Sitting

# Each sitting has a gateway, a sandbox and settings of its own.
SHORT, LONG = [10], [32] * 10


def check(trial):
    total = 0
    for number, kills in enumerate(LONG if trial.is_long else SHORT):
        before = len(trial.complaints)
        sitting, is_over = Sitting(trial, number, kills), False
        try:
            sitting.hold()
            books = Books(sitting)
            for line in books.wrong():
                trial.wrong(f"sitting {number}: {line}")
            say(trial, sitting, books)
            is_over = len(trial.complaints) == before
        finally:
            trial.end()
            if not is_over:
                trial.say(f"sitting {number}:\n{sitting.destinations}")
                for index, round in enumerate(sitting.rounds):
                    trial.say(f"round {index}: {round}")
        total += sitting.kills
    trial.say(f"{total} kills")


def say(trial, sitting, books):
    stored = sum(sender.stored for sender in sitting.senders)
    again = sum(sender.repeats for sender in sitting.senders)
    trial.say(
        f"{sitting.kills} kills in {len(sitting.lives)} lives, {stored} logs answered, {len(books.arrived)} arrived, "
        f"{len(books.repeated)} of them twice without exactly_once; {again} requests repeated, "
        f"{sum(network.broken for network in sitting.networks)} connections broken, {sitting.keys.pushed} keys pushed, {sitting.pauses} pauses"
    )
    trial.say(
        f"concurrency {sitting.settings['concurrency']}, ready within {max(sitting.ready):.2f} s, "
        f"all delivered {sitting.rested:.1f} s after the last mischief, {len(books.taken)} of {len(books.passed)} answers were surely dealt with"
    )

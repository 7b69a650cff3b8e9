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
    mischief = sitting.mischief
    again = sum(sender.repeats for sender in sitting.senders)
    broken = sum(network.broken for network in mischief.networks)
    trial.say(
        f"{sitting.kills} kills in {len(sitting.lives)} lives, {mischief.pauses} pauses, {broken} connections broken, "
        f"{mischief.keys.pushed} keys pushed, {mischief.changes} changes by an operator"
    )
    trial.say(
        f"{sitting.stored} logs answered, {len(books.arrived)} arrived, {len(books.repeated)} of them twice, "
        f"where that was allowed; {again} requests repeated; "
        f"{len(books.taken)} of {len(books.passed)} answers of SLS were surely dealt with"
    )
    trial.say(
        f"concurrency {sitting.settings['concurrency']}, ready within {max(sitting.ready):.2f} s, "
        f"all delivered {sitting.rested:.1f} s after the last mischief"
    )

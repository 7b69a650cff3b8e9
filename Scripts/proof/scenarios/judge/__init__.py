"""Whatever is killed or broken, every answered log arrives unaltered, in order, and once where that is promised."""

import collections

from proof.scenarios.judge.session import Session
from proof.scenarios.judge.verdict import Verdict
from proof.trial import Trial

# Kills for each session. Each session has a gateway, a sandbox and settings of its own.
SHORT, LONG = [10], [32] * 10
EARLY, TAKEN = "answers of SLS before the last start", "of them surely committed"
# Answers that the gateway surely knew: the least number for each kill, and the share that is wanted. With fewer, the
# check for needless retransmissions proves little.
LEAST_TAKEN, WANTED_TAKEN = 3, 0.2
# Sessions that are added while something has not happened often enough: what happens in a short one depends on the
# draw and on the machine.
MORE_SESSIONS = 2


def check(trial: Trial) -> None:
    kills = LONG if trial.is_long else SHORT
    counts: collections.Counter[str] = collections.Counter()
    for number, least in enumerate(kills):
        counts.update(run_session(trial, number, least))
    for number in range(len(kills), len(kills) + MORE_SESSIONS):
        if trial.complaints or not (lacks := missing(counts, counts[EARLY] * WANTED_TAKEN)):
            break
        trial.say(f"one more session, because of {'; '.join(lacks)}")
        counts.update(run_session(trial, number, kills[0]))
    trial.say(f"{counts['kills']} kills")
    trial.expect(counts["kills"] >= sum(kills), f"{counts['kills']} kills of {sum(kills)} planned")
    trial.wrong(*missing(counts, counts["kills"] * LEAST_TAKEN))


def run_session(
    trial: Trial, number: int, kills: int, settings: str = "", moves: bool = False
) -> collections.Counter[str]:
    before = len(trial.complaints)
    session, is_over = Session(trial, number, kills, settings, moves), False
    try:
        session.run_rounds()
        verdict = Verdict(session)
        trial.wrong(*(f"session {number}: {line}" for line in verdict.wrong()))
        counted = count(session, verdict)
        say(trial, session, counted)
        is_over = len(trial.complaints) == before
        return counted
    finally:
        trial.end_session()
        if not is_over:
            trial.say(f"session {number}:\n{session.destinations}")
            for index, round in enumerate(session.rounds):
                trial.say(f"round {index}: {round}")


def count(session: Session, verdict: Verdict) -> collections.Counter[str]:
    disruptions = session.disruptions
    return collections.Counter(
        {
            "kills": session.kills,
            "logs answered": session.stored,
            "logs that arrived": len(verdict.arrived),
            "logs that arrived twice, where that was allowed": len(verdict.repeated),
            "logs at a second destination": sum(len(second.keys) for second in verdict.seconds),
            "that arrived there twice": sum(second.repeated for second in verdict.seconds),
            "requests that the log server answered badly": session.second.server.disturbed,
            "pauses": disruptions.pauses,
            "broken connections": sum(network.broken for network in disruptions.networks),
            "pushed keys": disruptions.keys.pushed,
            "changes by an operator": disruptions.changes,
            "repeated requests": sum(sender.repeats for sender in session.senders),
            "refusals of packets that SLS already had": session.refusals,
            EARLY: len(verdict.early),
            TAKEN: len(verdict.early & verdict.taken),
        }
    )


def missing(counts: collections.Counter[str], least_taken: float) -> list[str]:
    """A promise about something that never happened was not tested, so each kind must have happened."""
    lacks = [f"none: {what}" for what, number in counts.items() if number == 0]
    if counts[TAKEN] < least_taken:
        lacks.append(f"too few: {counts[EARLY]} {EARLY}, {counts[TAKEN]} {TAKEN}, {counts['kills']} kills")
    return lacks


def say(trial: Trial, session: Session, counted: collections.Counter[str]) -> None:
    trial.say(f"{len(session.runs)} processes; " + ", ".join(f"{number} {what}" for what, number in counted.items()))
    trial.say(
        f"concurrency {session.settings['concurrency']}, ready within {max(session.ready):.2f} s, "
        f"all delivered {session.delivered_after:.1f} s after the last fault"
    )

"""Whatever is killed or broken, every answered log arrives unaltered, in order, and once where that is promised."""

import collections
import datetime
import functools
from collections.abc import Iterable, Iterator
from typing import Any

from harness.gateway import Log
from proof.clients.device import is_whole
from proof.fan_out import SEEN
from proof.scenarios.judge.disruptions import GatewayRun
from proof.scenarios.judge.faulty_network import PassedAnswer
from proof.scenarios.judge.senders import STORED, TORN, Batch, DeviceStream, time_of
from proof.scenarios.judge.session import PAIRS, Session, counted
from proof.trial import Trial

# Seconds, times the delay of the machine. If a device's request was sent this much later than SLS's answer, and was
# answered, then the gateway had handled SLS's answer: one thread commits both.
TAKEN_AFTER = 0.25
# Half of the configured `send_timeout`: a slower answer may have come too late.
ON_TIME = 0.75
FIELDS = {"name", "noise", "sum", "seen"}


class Arrival:
    """A log as it arrived: its place in the order, the request that brought it, its pack."""

    def __init__(self, log: Log, order: int) -> None:
        self.order, self.request = order, log["__request_id__"]
        self.place = log["__project__"], log["__logstore__"], log["__topic__"]
        self.prefix, number = log["__tag__:__pack_id__"].split("-")
        self.pack = int(number, 16), int(log["__pack_index__"])
        fields = {key for key in log if not key.startswith("__")}
        self.is_whole = is_whole(log) and fields == FIELDS and log["seen"] == SEEN
        self.time = log["__time__"]


class Verdict:
    """Compares what was sent and answered with the `logs` that arrived at SLS."""

    def __init__(self, session: Session, logs: Iterable[Log]) -> None:
        self.session = session
        self.streams = {stream.name: stream for sender in session.senders for stream in sender.streams}
        self.batches = [batch for sender in session.senders for batch in sender.batches]
        self.arrived: dict[str, list[Arrival]] = collections.defaultdict(list)
        for order, log in enumerate(logs):
            self.arrived[log.get("name", "")].append(Arrival(log, order))
        self.repeated = [name for name, arrivals in self.arrived.items() if len(arrivals) > 1]
        self.passed: dict[str, PassedAnswer] = {}
        for network in session.disruptions.networks:
            self.passed |= network.passed
        self.taken = self.answers_taken()
        # In the last process with traffic everything is known in the end.
        began = self.last.began
        good = (request for request, answer in self.passed.items() if answer.status == 200 and answer.began < began)
        self.early = set(good)

    @functools.cached_property
    def seconds(self) -> list["SecondVerdict"]:
        return [SecondVerdict(self, project, name) for project, name in PAIRS.items()]

    @property
    def last(self) -> GatewayRun:
        return max((run for run in self.session.runs if run.began <= self.session.settled), key=lambda run: run.began)

    def wrong(self) -> Iterator[str]:
        checks = [self.lost, self.altered, self.twice, self.disorder, self.counts]
        for check in checks + [each.wrong for each in self.seconds]:
            lines = list(check())
            yield from lines[:5]
            if len(lines) > 5:
                yield f"and {len(lines) - 5} more like the last one"

    def lost(self) -> Iterator[str]:
        """Answered logs are there; of a batch with an unknown fate all or none; of a torn one none."""
        for sender in self.session.senders:
            yield from sender.refusals
        for batch in self.batches:
            names = batch.names()
            count = sum(name in self.arrived for name in names)
            if batch.fate == STORED and count < len(names):
                yield f"{len(names) - count} of {len(names)} answered logs from {names[0]} on are lost"
            elif batch.fate == TORN and count > 0:
                yield f"{names[0]} arrived though its request was cut off"
            elif 0 < count < len(names):
                yield f"the batch from {names[0]} on arrived in part: {count} of {len(names)}"

    def altered(self) -> Iterator[str]:
        sent = {name for batch in self.batches for name in batch.names()}
        for name, arrivals in self.arrived.items():
            if name not in sent:
                yield f"{name!r} arrived without having been sent"
                continue
            expected = self.streams[name.rsplit(".", 1)[0]].place, time_of(name, self.session.base)
            for arrival in arrivals:
                if not arrival.is_whole:
                    yield f"{name} was altered"
                elif (arrival.place, arrival.time) != expected:
                    yield f"{name} is at {arrival.place}, {arrival.time}, not {expected}"

    def answers_taken(self) -> set[str]:
        """The ids of requests whose answers reached a gateway that lived long enough to commit them."""
        heard: dict[int, float] = collections.defaultdict(float)
        runs = self.session.runs
        # The delay of the machine is known at the start of each process, and of the next one.
        after = [TAKEN_AFTER * max(run.late for run in runs[number : number + 2]) for number in range(len(runs))]
        for batch in self.batches:
            if batch.fate != STORED:
                continue
            for number, run in enumerate(runs):
                if run.began <= batch.sent and batch.heard <= run.ended:
                    heard[number] = max(heard[number], batch.sent)
        # Nothing was queued any more.
        last = runs.index(self.last)
        heard[last] = self.session.settled + after[last]
        taken = set()
        for request, answer in self.passed.items():
            for number, run in enumerate(runs):
                if not run.began <= answer.began <= answer.ended <= run.ended:
                    continue
                # An answer that came while the process was stopped is read when it goes on.
                read = max([answer.ended, *(end for begin, end in run.pauses if begin - 0.05 <= answer.ended <= end)])
                on_time = read - answer.began <= ON_TIME
                if answer.status == 200 and request and on_time and read + after[number] <= heard[number]:
                    taken.add(request)
        return taken

    def twice(self) -> Iterator[str]:
        """With `exactly_once` no log may be there twice. Otherwise a second copy is allowed only where the gateway
        could not know of the first."""
        for name in self.repeated:
            arrivals = self.arrived[name]
            requests = [arrival.request for arrival in arrivals]
            if arrivals[0].place[0] == "once":
                yield f"{name} arrived {len(arrivals)} times with exactly_once: {requests}"
            elif sum(request in self.taken for request in requests) > 1:
                yield f"{name} was sent again though its answer came through: {requests}"
            elif len({(arrival.prefix, arrival.pack) for arrival in arrivals}) > 1:
                yield f"{name} is in several packets, not in one that was sent again: {requests}"

    def disorder(self) -> Iterator[str]:
        """The logs of a stream keep their order in packs, and by arrival where one request goes at a time."""
        prefixes: dict[str, int] = {}
        for stream in self.streams.values():
            firsts = [self.arrived[name][0] for name in stored(self.batches, stream) if name in self.arrived]
            for arrival in firsts:
                prefixes.setdefault(arrival.prefix, len(prefixes))
            packs = [(prefixes[arrival.prefix], arrival.pack) for arrival in firsts]
            orders = [arrival.order for arrival in firsts]
            if packs != sorted(packs):
                yield f"packs of {stream.name} are out of order"
            if self.session.settings["concurrency"] == 1 and orders != sorted(orders):
                yield f"{stream.name} arrived out of order"

    def counts(self) -> Iterator[str]:
        """The logs that were accepted are those that arrived, each counted once."""
        yield from miscounted(self.session.book, PAIRS, len(self.arrived), "SLS")


class SecondVerdict:
    """Compares what a second destination has with what SLS has of the same routes."""

    def __init__(self, verdict: Verdict, project: str, name: str) -> None:
        session = verdict.session
        self.verdict, self.name = verdict, name
        # The idempotency key, the log as it is shown in a complaint, and the log.
        self.logs: list[tuple[str | None, str, Log | None]] = [(None, *line) for line in session.archive.lines()]
        if name == "server":
            self.logs = [(key, str(log), log) for key, log in session.server.logs()]
        routed = (each for each in verdict.streams.values() if each.is_routed and each.project == project)
        self.streams = {stream.name: stream for stream in routed}
        self.keys: dict[str, list[str | None]] = collections.defaultdict(list)
        for key, _, log in self.logs:
            if log is not None:
                self.keys[log.get("name", "")].append(key)

    @property
    def repeated(self) -> int:
        return sum(len(keys) > 1 for keys in self.keys.values())

    def wrong(self) -> Iterator[str]:
        yield from self.missing()
        yield from self.altered()
        yield from self.repeated_or_late()
        yield from miscounted(self.verdict.session.book, [self.name], len(self.keys), self.name)

    def missing(self) -> Iterator[str]:
        """A batch is stored for both destinations at once. The verdict on SLS says which these must be."""
        at_sls = {name for name in self.verdict.arrived if name.rsplit(".", 1)[0] in self.streams}
        if missing := at_sls - set(self.keys):
            yield f"{len(missing)} of {len(at_sls)} logs at SLS are not at {self.name}, such as {min(missing)}"
        if strange := set(self.keys) - at_sls:
            yield f"{len(strange)} logs are at {self.name} and not at SLS, such as {min(strange)}"

    def altered(self) -> Iterator[str]:
        for _, shown, log in self.logs:
            if log is None:
                yield f"a line of {self.name} is not whole: {shown}"
            elif not is_whole(log) or set(log) != {*FIELDS, "date", "tag"} or log["seen"] != SEEN:
                yield f"a log at {self.name} was altered or not filtered: {shown}"
            elif stream := self.streams.get(log["name"].rsplit(".", 1)[0]):
                then = datetime.datetime.fromisoformat(log["date"]).timestamp()
                # The tag of a log in JSON is its topic.
                if (log["tag"], str(int(then))) != (stream.place[2], time_of(log["name"], self.verdict.session.base)):
                    yield f"a log at {self.name} has another tag or time than {stream.place}: {shown}"

    def repeated_or_late(self) -> Iterator[str]:
        """A server that honours `Idempotency-Key` stores each log once, in the order of its stream."""
        if self.name != "server":
            return
        for name, keys in self.keys.items():
            if len(set(keys)) > 1:
                yield f"{name} is at {self.name} under several idempotency keys: {keys}"
        places = {name: place for place, name in enumerate(self.keys)}
        for stream in self.streams.values():
            order = [places[name] for name in stored(self.verdict.batches, stream) if name in places]
            if order != sorted(order):
                yield f"{stream.name} arrived out of order at {self.name}"


def miscounted(book: dict[str, Any], names: Iterable[str], arrived: int, where: str) -> Iterator[str]:
    accepted, delivered = (counted(book, names, count) for count in ("accepted", "delivered"))
    if not arrived == accepted == delivered:
        yield f"{arrived} different logs are at {where}, the ledger says: {accepted}, {delivered}"


def stored(batches: Iterable[Batch], stream: DeviceStream) -> Iterator[str]:
    for batch in batches:
        if batch.stream is stream and batch.fate == STORED:
            yield from batch.names()


# Kills for each session. Each session has a gateway, a sandbox and settings of its own.
SHORT, LONG = [10], [32] * 10
EARLY, TAKEN = "answers of SLS before the last start", "of them surely committed"
# Answers that the gateway surely knew: the least number for each kill, and the share that is wanted. With fewer, the
# check for needless retransmissions proves little.
LEAST_TAKEN, WANTED_TAKEN = 3, 0.2
# Sessions that are added while something has not happened often enough, which depends on the draw.
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
        logs = list(session.sandbox.logs())
        verdict = Verdict(session, logs)
        trial.wrong(*(f"session {number}: {line}" for line in verdict.wrong()))
        for check, fault, other in tampered(session, logs):
            found = list(getattr(Verdict(session, other), check)())
            trial.expect(found, f"session {number}: the verdict is blind: it does not find {fault}")
        happened = count(session, verdict)
        figures = ", ".join(f"{number} {what}" for what, number in happened.items())
        trial.say(
            f"{len(session.runs)} processes; {figures}; concurrency {session.settings['concurrency']}, ready within "
            f"{max(session.ready):.2f} s, all delivered {session.delivered_after:.1f} s after the last fault"
        )
        is_over = len(trial.complaints) == before
        return happened
    finally:
        trial.end_session()
        if not is_over:
            trial.say(f"session {number}:\n{session.destinations}")
            for index, round in enumerate(session.rounds):
                trial.say(f"round {index}: {round}")


def tampered(session: Session, logs: list[Log]) -> Iterator[tuple[str, str, list[Log]]]:
    """What arrived, each time with one fault, and the check that must find it."""
    answered = {
        name for each in session.senders for batch in each.batches if batch.fate == STORED for name in batch.names()
    }
    places = [place for place, log in enumerate(logs) if log["name"] in answered and log["__project__"] == "once"]
    place = session.random.choice(places)
    before, log, after = logs[:place], logs[place], logs[place + 1 :]
    yield "lost", "a lost log", before + after
    yield "twice", "a log that is there twice", [*logs, log]
    yield "altered", "an altered log", [*before, log | {"noise": "0"}, *after]
    yield "altered", "a log elsewhere", [*before, log | {"__topic__": "elsewhere"}, *after]
    yield "altered", "a log that no device sent", [*logs, log | {"name": "none.0.0"}]
    yield "counts", "a log that no ledger counts", [*logs, log | {"name": "none.0.0"}]
    # The first and the last log of the largest stream change their places.
    streams = collections.Counter(logs[each]["name"].rsplit(".", 1)[0] for each in places)
    stream = streams.most_common(1)[0][0]
    first, *_, last = (each for each in places if logs[each]["name"].rsplit(".", 1)[0] == stream)
    swapped, own = list(logs), ("name", "noise", "sum", "__time__")
    for one, another in ((first, last), (last, first)):
        swapped[one] = logs[one] | {key: logs[another][key] for key in own}
    yield "disorder", "logs out of order", swapped


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
            "requests that the log server answered badly": session.server.disturbed,
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

import SLS
import Synchronization
import System

/// SLS's time, so that requests are signed with the time that SLS checks them against, and that no
/// log is called late by a host's clock that is far off: the times of logs are never touched.
///
/// SLS tells its time with every answer, in whole seconds. So an answer that was asked for at
/// `sent` and came at `received` puts the offset of its clock into a range: at most `told + 1 s -
/// sent`, at least `told - received`. The offset stays where it is while it lies in that range or
/// close to it, which makes slow networks and rounding harmless; otherwise it moves to the middle
/// of the range.
///
/// **Which answers count.** Answers with a request id, over a connection that no third party can
/// answer on:
/// https, where the certificate is always verified, or this machine. Over plain http elsewhere,
/// which the operator chose, only a refusal because of the time counts, and no more than a day: a
/// host whose clock is wrong delivers all the same, and a forged time gains an attacker no more
/// than one refused request. It could have dropped that request anyway, and the answer to it tells
/// the right time. An answer that says "stored" and shows a time at which SLS would have refused
/// the request contradicts itself and does not count.
struct ServerClock {
    /// The offset was found to be another.
    struct Change: Equatable {
        let from: Duration
        let to: Duration
        /// The line in the journal, if it is worth one.
        let notice: Notice?
    }

    enum Notice: Equatable {
        case hostIsFarOff
        case hostIsRightAgain
    }

    /// How far a request's date may be from SLS's clock.
    static let tolerance: Duration = .seconds(15 * 60)
    /// A smaller difference is not worth a change.
    static let deadband: Duration = .seconds(2)
    static let offsetMax: Duration = .seconds(10 * 365 * 86400)
    static let unverifiedOffsetMax: Duration = .seconds(86400)
    /// An operator hears of a clock that is farther off, and again when it is much closer.
    static let farOff: Duration = .seconds(60)
    private static let closeAgain: Duration = .seconds(30)

    /// SLS's clock minus the host's; nil before anything was learned.
    private(set) var offset: Duration?
    private let isVerified: Bool
    private var isFarOff = false

    init(_ key: EndpointKey) {
        isVerified = key.isPrivate
    }

    /// The time to sign with. `start`, the operator's offset (the SDKs' NtpTimeOffset), counts
    /// until SLS has told.
    func time(at host: WallTime, assuming start: Duration = .zero) -> WallTime {
        host + (offset ?? start)
    }

    /// The offset when it is so large that logs with the host's time may be outside of what SLS
    /// takes.
    func hostIsWrong(assuming start: Duration = .zero) -> Duration? {
        let present = offset ?? start
        return abs(present) > Self.tolerance ? present : nil
    }

    /// Not when they are nearly the same, or a request would be repeated without end.
    static func mayAccept(_ time: WallTime, not refused: WallTime) -> Bool {
        abs(time - refused) > farOff
    }

    /// Takes the time from an answer. `sent` and `received` are the host's.
    mutating func learn(
        from answer: AnswerTime,
        sent: WallTime,
        received: WallTime,
        assuming start: Duration = .zero
    ) -> Change? {
        // When the host's clock was set back in between, the range means nothing.
        guard let told = answer.told, sent <= received else { return nil }
        let low = told - received
        let high = told + .seconds(1) - sent
        let present = offset ?? start
        let distance = max(low - present, present - high, .zero)
        let found = distance <= Self.deadband ? present : Self.middle(low, high)
        guard isBelievable(answer, found, distance) else { return nil }
        offset = found
        let notice = notice(of: found)
        return found == present && notice == nil
            ? nil : Change(from: present, to: found, notice: notice)
    }

    private func isBelievable(
        _ answer: AnswerTime,
        _ found: Duration,
        _ distance: Duration
    ) -> Bool {
        if answer.isStored && distance > Self.tolerance { return false }
        guard !isVerified else { return abs(found) <= Self.offsetMax }
        return answer.isRefusedForItsTime && abs(found) <= Self.unverifiedOffsetMax
    }

    /// Zero when the range allows it: a clock that is right has no offset. Fractions of a
    /// millisecond mean nothing.
    private static func middle(_ low: Duration, _ high: Duration) -> Duration {
        guard low > .zero || high < .zero else { return .zero }
        return .milliseconds(((low + high) / 2).milliseconds)
    }

    private mutating func notice(of offset: Duration) -> Notice? {
        let size = abs(offset)
        if !isFarOff, size > Self.farOff {
            isFarOff = true
            return .hostIsFarOff
        }
        if isFarOff, size < Self.closeAgain {
            isFarOff = false
            return .hostIsRightAgain
        }
        return nil
    }
}

private func abs(_ duration: Duration) -> Duration {
    max(duration, .zero - duration)
}

/// A destination's view of the host's clock and of SLS's: the time to sign with, and whether the
/// host's clock is so wrong that SLS refuses logs with its time.
struct DestinationClock {
    private let destination: String
    private let host: @Sendable () -> WallTime
    private let offsets: ClockOffsets
    /// SLS's clock minus the host's, as the operator says; counts until SLS has told.
    var assumed: Duration
    private var wasWrong = false
    /// The error of the host's clock that was published last.
    private var told: Duration?

    init(
        _ destination: String,
        host: @escaping @Sendable () -> WallTime,
        _ offsets: ClockOffsets,
        assuming assumed: Duration
    ) {
        self.destination = destination
        self.host = host
        self.offsets = offsets
        self.assumed = assumed
    }

    var now: WallTime { host() }

    /// SLS's time at an endpoint when the host's is `host`.
    func time(of endpoint: EndpointState, at host: WallTime) -> WallTime {
        endpoint.clock.time(at: host, assuming: assumed)
    }

    func offset(of endpoint: EndpointState) -> Duration {
        endpoint.clock.offset ?? assumed
    }

    /// By how much the host's clock is wrong; nil while it is near enough.
    func wrongness(at endpoint: EndpointState) -> Duration? {
        endpoint.clock.hostIsWrong(assuming: assumed)
    }

    /// Takes the time from an answer to a request that was signed at `signed`.
    func learn(
        from answer: AnswerTime,
        at endpoint: EndpointState,
        signed: WallTime,
        received: WallTime
    ) -> ServerClock.Change? {
        endpoint.clock.learn(from: answer, sent: signed, received: received, assuming: assumed)
    }

    /// Returns true once after the host's clock was wrong and is right again.
    mutating func takeRecovery(at endpoint: EndpointState) -> Bool {
        let isWrong = wrongness(at: endpoint) != nil
        defer { wasWrong = isWrong }
        return wasWrong && !isWrong
    }

    /// Publishes the error of the host's clock for ingest, which measures logs by that clock.
    mutating func publish(_ wrongness: Duration?) {
        guard told != wrongness else { return }
        told = wrongness
        offsets.set(wrongness, for: destination)
    }
}

/// How wrong destinations know the host's clock to be. Ingest measures logs by that clock.
package final class ClockOffsets: Sendable {
    /// Mostly zero, and then the lock is not taken.
    private let count = Atomic<Int>(0)
    private let known = Locked<[String: Known]>([:])

    private static let noticeable = Duration.seconds(60)

    /// The host's clock minus the one that never jumps; changes when the host's is set.
    private let lead: @Sendable () -> Int64

    package init(
        lead: @escaping @Sendable () -> Int64 = {
            WallTime.now.nanoseconds &- Moment.now.nanoseconds
        }
    ) {
        self.lead = lead
    }

    private struct Known {
        let offset: Duration
        /// The lead when the offset was learned.
        let lead: Int64
    }

    /// SLS's clock minus the host's where that is much, else zero. The host's may have been set
    /// since.
    package func offset(for destination: String) -> Duration {
        guard count.load(ordering: .relaxed) > 0,
            let known = known.withLock({ $0[destination] })
        else { return .zero }
        let step = Duration.nanoseconds(lead() &- known.lead)
        guard step.magnitude > Self.noticeable else { return known.offset }
        let rest = known.offset - step
        return rest.magnitude > Self.noticeable ? rest : .zero
    }

    /// The largest of all, for those that ask no destination.
    package var largest: Duration {
        guard count.load(ordering: .relaxed) > 0 else { return .zero }
        let names = known.withLock { Array($0.keys) }
        return names.map(offset).max { $0.magnitude < $1.magnitude } ?? .zero
    }

    /// The delivery thread's alone.
    func set(_ offset: Duration?, for destination: String) {
        let number = known.withLock { known in
            known[destination] = offset.map { Known(offset: $0, lead: lead()) }
            return known.count
        }
        count.store(number, ordering: .relaxed)
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}

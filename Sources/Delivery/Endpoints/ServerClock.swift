import SLS
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

    /// The time to sign with. `start` is what the operator says of the offset (the SDKs'
    /// NtpTimeOffset): it counts until SLS has told.
    func time(at host: WallTime, assuming start: Duration = .zero) -> WallTime {
        host + (offset ?? start)
    }

    /// The offset when it is known, from SLS or by `start`, to be so large that logs which got
    /// their time from the host may be outside of what SLS takes; nil while it is not.
    func hostIsWrong(assuming start: Duration = .zero) -> Duration? {
        let present = offset ?? start
        return abs(present) > Self.tolerance ? present : nil
    }

    /// True when SLS may take this time where it refused that one. Not when they are nearly the
    /// same, or a request would be repeated without end.
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

    /// Zero when the range allows it, so that a clock that is right has no offset. Fractions of a
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

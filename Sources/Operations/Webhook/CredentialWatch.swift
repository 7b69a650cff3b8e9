import Credentials
import System

/// Detects when credentials stop working and when they recover. A value without clock and threads.
///
/// A flapping credential causes at most one notice of each kind in an interval. A state that
/// persists is reported late rather than never.
package struct CredentialWatch {

    package init() {}
    private struct Told {
        var event = CredentialNotice.Event.recovered
        var fingerprint: String?
        var times: [CredentialNotice.Event: Moment] = [:]
    }

    private var told: [String: Told] = [:]

    mutating func look(
        _ all: [CredentialStatus],
        interval: Duration,
        now: Moment,
        time: WallTime
    ) -> [CredentialNotice] {
        let names = Set(all.map(\.name))
        told = told.filter { names.contains($0.key) }
        return all.compactMap { status in
            guard let event = Self.event(status) else { return nil }
            var before = told[status.name] ?? Told()
            defer { told[status.name] = before }
            // A new credential with the same problem is news; a new credential that works is not.
            let isOther = event != .recovered && before.fingerprint != status.fingerprint
            guard event != before.event || isOther else { return nil }
            if let last = before.times[event], now - last < interval { return nil }
            before.event = event
            before.fingerprint = status.fingerprint
            before.times[event] = now
            return CredentialNotice(event, status, at: time)
        }
    }

    /// How often a source may fail before its credential counts as missing: some sources start
    /// slowly.
    private static let failuresMax = 3

    /// nil: too early to say.
    private static func event(_ status: CredentialStatus) -> CredentialNotice.Event? {
        switch status.state {
        case .expiring: .expiring
        case .expired: .expired
        case .refused: .refused
        case .ok: .recovered
        case .missing: status.failures >= failuresMax ? .missing : nil
        case .refreshing: nil
        }
    }
}

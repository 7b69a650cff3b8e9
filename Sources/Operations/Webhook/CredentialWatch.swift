import Credentials
import System

/// Notices when credentials stop being well and when they are again. A value without clock and threads.
///
/// What flaps is told at most once an interval, of each credential and each kind of event; what it has come to
/// by then is told late rather than never.
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
            // A second one that is no better is news; a second one that is well is not.
            let isOther = event != .recovered && before.fingerprint != status.fingerprint
            guard event != before.event || isOther else { return nil }
            if let last = before.times[event], now - last < interval { return nil }
            before.event = event
            before.fingerprint = status.fingerprint
            before.times[event] = now
            return CredentialNotice(event, status, at: time)
        }
    }

    /// How often a source may fail before it is told that there is no credential: others start more slowly.
    private static let failuresMax = 3

    /// Nil where it cannot be told yet.
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

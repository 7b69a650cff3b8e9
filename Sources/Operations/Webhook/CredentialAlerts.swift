package import Configuration
package import Credentials
import JSON
package import System

/// Reports credentials that have a problem or recovered, in the journal and through the webhook.
package struct CredentialAlerts: Sendable {
    private let configuration: Locked<GatewayConfiguration>
    private let keeper: CredentialKeeper
    private let webhook: Webhook
    private let journal: Journal
    private let watch = Locked(CredentialWatch())

    package init(
        _ configuration: Locked<GatewayConfiguration>,
        of keeper: CredentialKeeper,
        to webhook: Webhook,
        _ journal: Journal
    ) {
        self.configuration = configuration
        self.keeper = keeper
        self.webhook = webhook
        self.journal = journal
    }

    /// Called every few seconds on the thread of changes, which waits neither for SLS nor for the
    /// webhook's receiver: warnings matter most when SLS does not answer.
    package func look() {
        let interval = configuration.withLock(\.webhook.interval)
        let notices = watch.withLock {
            $0.look(keeper.status, interval: interval, now: .now, time: .now)
        }
        for notice in notices {
            tell(notice)
            webhook.tell(notice)
        }
    }

    private func tell(_ notice: CredentialNotice) {
        let status = notice.status
        guard notice.event != .recovered else {
            return journal.info("credential recovered", ["credential": status.name])
        }
        journal.warning(
            "credential is \(notice.event.rawValue)",
            [
                "credential": status.name, "source": status.source,
                "fingerprint": status.fingerprint ?? "none",
                "seconds_left": status.secondsLeft.map { "\($0)" } ?? "none",
                "remedy": status.remedy,
            ]
        )
    }
}

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

    /// Failures before a credential counts as missing: some sources start slowly.
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

/// A notice about a credential that has a problem or has recovered. It holds nothing secret.
struct CredentialNotice: Sendable, Equatable {
    enum Event: String, Sendable, CaseIterable {
        case expiring, expired, refused
        /// There is no credential, and its source has failed repeatedly.
        case missing
        /// The credential works again.
        case recovered
    }

    /// The same in every attempt to deliver the notice.
    let id: String
    let event: Event
    let status: CredentialStatus
    let time: WallTime

    init(_ event: Event, _ status: CredentialStatus, at time: WallTime) {
        id = hex(randomBytes(16))
        self.event = event
        self.status = status
        self.time = time
    }

    /// The body of the POST.
    func json(host: String) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("id", id)
            json.member("event", "credential.\(event.rawValue)")
            json.member("time", time.rfc3339)
            json.member("host", host)
            json.member("credential", status.name)
            json.member("source", status.source)
            json.member("state", status.state.rawValue)
            json.member("fingerprint", status.fingerprint)
            json.member("expires_at", status.expiration?.rfc3339)
            json.member("seconds_left", status.secondsLeft.map { Int($0) })
            json.member("problem", status.lastProblem?.description)
            json.member("remedy", event == .recovered ? nil : status.remedy)
        }
        return json.text
    }
}

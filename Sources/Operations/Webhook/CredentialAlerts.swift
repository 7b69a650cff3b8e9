package import Configuration
package import Credentials
package import System

/// Warns of credentials that expire, are refused or are missing, and tells when they are well
/// again: in the journal and through the webhook.
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

import Configuration
import Credentials
package import System

extension Steering {
    /// How often certificates and credentials are looked at.
    package static let watchPause: Duration = .seconds(10)

    /// Tells of credentials that come to their end, have none, or are well again. On the thread of changes, which
    /// waits for nobody: warnings are wanted most when SLS does not answer.
    package func lookAfterCredentials(_ watch: Locked<CredentialWatch>) {
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
            return journal.info("credential is well again", ["credential": status.name])
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

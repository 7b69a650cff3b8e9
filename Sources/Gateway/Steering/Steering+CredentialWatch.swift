import Credentials
import System

extension Steering {
    private static let watchPause: Duration = .seconds(10)

    /// Starts the thread of rotations, which also looks after credentials that come to their end.
    func watchCredentials() throws(SystemError) {
        let watch = Locked(CredentialWatch())
        try vaultHelm.start(every: Self.watchPause) { [self] in
            let interval = configuration.withLock(\.webhook.interval)
            let notices = watch.withLock {
                $0.look(keeper.status, interval: interval, now: .now, time: .now)
            }
            for notice in notices {
                tell(notice)
                webhook.tell(notice)
            }
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

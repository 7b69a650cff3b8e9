import Credentials
import System

extension Steering {
    private static let watchPause: Duration = .seconds(10)

    /// Starts the thread of rotations, which also looks after credentials that come to their end.
    func watchCredentials() throws(SystemError) {
        let told = Locked<[String: CredentialStatus.State]>([:])
        try vaultHelm.start(every: Self.watchPause) { [self] in
            for status in keeper.status {
                let before = told.withLock { told in
                    let before = told[status.name]
                    told[status.name] = status.state
                    return before
                }
                if before != status.state { tell(status, before) }
            }
        }
    }

    private func tell(_ status: CredentialStatus, _ before: CredentialStatus.State?) {
        switch status.state {
        case .expiring, .expired, .refused:
            journal.warning(
                "credential is \(status.state.rawValue)",
                [
                    "credential": status.name, "source": status.source,
                    "fingerprint": status.fingerprint ?? "none",
                    "seconds_left": status.secondsLeft.map { "\($0)" } ?? "none",
                    "remedy": status.remedy,
                ]
            )
        case .ok where before == .expiring || before == .expired || before == .refused:
            journal.info("credential is well again", ["credential": status.name])
        case .ok, .missing, .refreshing: break
        }
    }
}

package import Configuration
import Credentials
import SLS
package import System

/// Posts notices to an address of the operator's, in their order, on a thread that exists only while there is such
/// an address. Whoever has something to tell never waits for it.
package final class Webhook: Sendable {
    static let waitingMax = 64

    private struct State {
        var waiting: [(notice: CredentialNotice, since: Moment)] = []
        var settings = WebhookSettings()
        var status = WebhookStatus()
        var postman: WebhookSender?
    }

    private let state = Locked(State())
    private let journal: Journal
    private let pace: WebhookPace

    package init(_ journal: Journal, pace: WebhookPace = WebhookPace()) {
        self.journal = journal
        self.pace = pace
    }

    var status: WebhookStatus {
        state.withLock { state in
            var status = state.status
            status.place = state.settings.address?.description
            status.waiting = state.waiting.count
            return status
        }
    }

    /// Tells it to these from now on, also what waits. For one thread only.
    package func use(_ settings: WebhookSettings) throws(SystemError) {
        guard settings != state.withLock(\.settings) else { return }
        stop()
        let postman =
            try settings.address.map { address throws(SystemError) in
                try WebhookSender(self, address, settings, pace, journal)
            }
        state.withLock { state in
            state.settings = settings
            state.postman = postman
            state.status.problem = nil
            if postman == nil {
                state.status.dropped += state.waiting.count
                state.waiting = []
            }
        }
        postman?.wake.signal()
    }

    /// Does nothing where nobody is told.
    func tell(_ notice: CredentialNotice) {
        let postman = state.withLock { state -> WebhookSender? in
            guard let postman = state.postman else { return nil }
            if state.waiting.count == Self.waitingMax {
                // The oldest of those that are not being told at this moment.
                state.waiting.remove(at: 1)
                state.status.dropped += 1
            }
            state.waiting.append((notice, .now))
            return postman
        }
        postman?.wake.signal()
    }

    /// Ends the thread at once, also in the middle of an attempt. What waits is kept for the next address.
    package func stop() {
        let postman = state.withLock { state in
            defer {
                state.postman = nil
                state.settings = WebhookSettings()
            }
            return state.postman
        }
        postman?.stop()
    }

    // MARK: - For the postman

    var next: (notice: CredentialNotice, since: Moment)? { state.withLock(\.waiting.first) }

    /// What came of an attempt to tell the first.
    func settle(_ id: String, _ outcome: WebhookSender.Outcome) {
        state.withLock { state in
            switch outcome {
            case .sent:
                state.status.sent += 1
                state.status.problem = nil
            case .failed(let problem, let isFinal):
                state.status.problem = problem
                guard isFinal else { return }
                state.status.failed += 1
            }
            state.waiting.removeAll { $0.notice.id == id }
        }
    }
}

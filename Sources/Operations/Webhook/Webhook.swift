package import Configuration
import Credentials
import Crypto
package import HTTPClient
import SLS
package import System

/// Posts notices to the operator's address, in their order. Its thread exists only while there is
/// such an address. Callers never wait for it.
package final class Webhook: Sendable {
    static let waitingMax = 64

    private struct State {
        var waiting: [(notice: CredentialNotice, since: Moment)] = []
        var settings = WebhookSettings()
        var status = WebhookStatus()
        var sender: WebhookSender?
    }

    private let state = Locked(State())
    fileprivate let journal: Journal
    fileprivate let pace: WebhookPace
    fileprivate let addresses: AddressLookup

    package init(
        _ journal: Journal,
        pace: WebhookPace = WebhookPace(),
        addresses: AddressLookup = .system
    ) {
        self.journal = journal
        self.addresses = addresses
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

    /// Uses other settings from now on, also for waiting notices. For one thread only.
    package func use(_ settings: WebhookSettings) throws(SystemError) {
        guard settings != state.withLock(\.settings) else { return }
        stop()
        let sender =
            try settings.address.map { address throws(SystemError) in
                try WebhookSender(self, to: address, settings)
            }
        state.withLock { state in
            state.settings = settings
            state.sender = sender
            state.status.problem = nil
            if sender == nil {
                state.status.dropped += state.waiting.count
                state.waiting = []
            }
        }
        sender?.wake.signal()
    }

    /// Does nothing without an address.
    func tell(_ notice: CredentialNotice) {
        let sender = state.withLock { state -> WebhookSender? in
            guard let sender = state.sender else { return nil }
            if state.waiting.count == Self.waitingMax {
                // Drops the oldest notice except the one that is being posted.
                state.waiting.remove(at: 1)
                state.status.dropped += 1
            }
            state.waiting.append((notice, .now))
            return sender
        }
        sender?.wake.signal()
    }

    /// Ends the thread even during an attempt. Waiting notices are kept for the next address.
    package func stop() {
        let sender = state.withLock { state in
            defer {
                state.sender = nil
                state.settings = WebhookSettings()
            }
            return state.sender
        }
        sender?.stop()
    }

    // MARK: - For the sender

    var next: (notice: CredentialNotice, since: Moment)? { state.withLock(\.waiting.first) }

    /// Records the outcome of an attempt to post the first notice.
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

/// When a notice is retried, and for how long.
package struct WebhookPace: Sendable {
    var first: Duration = .seconds(1)
    var longest: Duration = .seconds(60)
    /// The age at which a notice is given up. It covers the redeployment of a receiver.
    var patience: Duration = .seconds(600)

    /// A random part of a growing window, so that many gateways do not retry together.
    func wait(after failures: Int, random: Double = .random(in: 0...1)) -> Duration {
        let window = min(longest, first * (1 << min(max(failures, 1) - 1, 20)))
        return window / 2 + window / 2 * random
    }
}

/// The state of the webhook.
package struct WebhookStatus: Sendable, Equatable {
    /// Scheme, host and port; nil without an address.
    package var place: String?
    package var sent = 0
    /// Notices that were given up.
    package var failed = 0
    /// Notices that made room for newer ones, or lost their receiver.
    package var dropped = 0
    package var waiting = 0
    /// The problem of the last failed attempt; nil after a success.
    package var problem: String?
}

/// The thread that posts notices to one address.
final class WebhookSender: Sendable {
    enum Outcome: Sendable {
        case sent
        /// The text holds no secrets of the address.
        case failed(String, isFinal: Bool)
    }

    let wake: WakeUp
    private let interruption: Interruption
    private let worker = Locked<Worker?>(nil)
    private let address: WebAddress
    private let settings: WebhookSettings
    private let pace: WebhookPace
    private let addresses: AddressLookup
    private let journal: Journal
    private let host = machineName() ?? "unknown"

    init(
        _ webhook: Webhook,
        to address: WebAddress,
        _ settings: WebhookSettings
    ) throws(SystemError) {
        wake = try WakeUp()
        interruption = try Interruption()
        (self.address, self.settings) = (address, settings)
        (pace, addresses, journal) = (webhook.pace, webhook.addresses, webhook.journal)
        let worker = try Worker("webhook") { [self, weak webhook] in
            while !interruption.isSet {
                guard let (notice, since) = webhook?.next else {
                    wake.wait()
                    continue
                }
                carry(notice, since) { webhook?.settle(notice.id, $0) }
            }
        }
        self.worker.withLock { $0 = worker }
    }

    func stop() {
        interruption.set()
        wake.signal()
        worker.withLock { $0.take() }?.join()
    }

    /// Retries until the notice is delivered or given up, or the address changes.
    private func carry(
        _ notice: CredentialNotice,
        _ since: Moment,
        settle: (Outcome) -> Void
    ) {
        var failures = 0
        while !interruption.isSet {
            guard let (problem, isFinal) = attempt(notice) else {
                return settle(.sent)
            }
            guard !interruption.isSet else { return }
            failures += 1
            let isOver = isFinal || Moment.now - since >= pace.patience
            settle(.failed(problem, isFinal: isOver))
            guard !isOver else {
                return journal.warning(
                    "webhook event not delivered",
                    [
                        "event": "credential.\(notice.event.rawValue)",
                        "credential": notice.status.name, "url": address.description,
                        "attempts": failures, "problem": problem,
                        "remedy": "check webhook.url, webhook.authorization and the receiver",
                    ]
                )
            }
            sleep(until: Moment.now + pace.wait(after: failures))
        }
    }

    private func sleep(until end: Moment) {
        // Newer notices wait behind this one.
        while !interruption.isSet, Moment.now < end { wake.wait(timeout: end - .now) }
    }

    /// Returns the problem, and whether it is permanent; nil when the notice was delivered.
    private func attempt(_ notice: CredentialNotice) -> (problem: String, isFinal: Bool)? {
        var headers = ["Idempotency-Key: \(notice.id)"]
        if let value = settings.authorization {
            headers.append("Authorization: \(value.revealed)")
        }
        let timeout = settings.timeout
        do throws(WebFailure) {
            let status = try WebClient(interruption: interruption, addresses: addresses).post(
                Array(notice.json(host: host).utf8),
                to: address.url,
                headers,
                limits: WebLimits(connect: timeout, total: timeout),
                resolvers: settings.resolvers
            )
            guard !(200..<300).contains(status) else { return nil }
            let isTemporary = status >= 500 || status == 408 || status == 429
            return ("the receiver answered \(status)", !isTemporary)
        } catch {
            return switch error {
            case .interrupted: ("the gateway is stopping", false)
            case .tooLarge: ("the head of the answer exceeds 64 KiB", true)
            case .noAnswer(let reason): ("no answer: \(reason)", false)
            }
        }
    }
}

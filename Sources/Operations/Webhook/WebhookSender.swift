import Configuration
import Credentials
import Crypto
import HTTPClient
import SLS
import System

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

    private struct Route: Sendable {
        let address: WebAddress
        let settings: WebhookSettings
        let pace: WebhookPace
        let addresses: AddressLookup
        let host = machineName() ?? "unknown"
    }

    init(
        _ webhook: Webhook,
        _ address: WebAddress,
        _ settings: WebhookSettings,
        _ pace: WebhookPace,
        _ addresses: AddressLookup,
        _ journal: Journal
    ) throws(SystemError) {
        wake = try WakeUp()
        interruption = try Interruption()
        let route = Route(
            address: address,
            settings: settings,
            pace: pace,
            addresses: addresses
        )
        let worker = try Worker("webhook") { [self, weak webhook] in
            while !interruption.isSet {
                guard let (notice, since) = webhook?.next else {
                    wake.wait()
                    continue
                }
                carry(notice, since, route, journal) { webhook?.settle(notice.id, $0) }
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
        _ route: Route,
        _ journal: Journal,
        _ settle: (Outcome) -> Void
    ) {
        var failures = 0
        while !interruption.isSet {
            guard let (problem, isFinal) = attempt(notice, route) else {
                return settle(.sent)
            }
            guard !interruption.isSet else { return }
            failures += 1
            let isOver = isFinal || Moment.now - since >= route.pace.patience
            settle(.failed(problem, isFinal: isOver))
            guard !isOver else {
                return journal.warning(
                    "webhook event not delivered",
                    [
                        "event": "credential.\(notice.event.rawValue)",
                        "credential": notice.status.name, "url": route.address.description,
                        "attempts": failures, "problem": problem,
                        "remedy":
                            "check webhook.url, webhook.authorization and the receiver",
                    ]
                )
            }
            sleep(until: Moment.now + route.pace.wait(after: failures))
        }
    }

    private func sleep(until end: Moment) {
        // Newer notices wait behind this one.
        while !interruption.isSet, Moment.now < end { wake.wait(timeout: end - .now) }
    }

    /// Returns the problem, and whether it is permanent; nil when the notice was delivered.
    private func attempt(
        _ notice: CredentialNotice,
        _ route: Route
    ) -> (problem: String, isFinal: Bool)? {
        var headers = ["Idempotency-Key: \(notice.id)"]
        if let value = route.settings.authorization {
            headers.append("Authorization: \(value.revealed)")
        }
        let timeout = route.settings.timeout
        do throws(WebFailure) {
            let status = try WebClient(interruption: interruption, addresses: route.addresses).post(
                Array(notice.json(host: route.host).utf8),
                to: route.address.url,
                headers,
                limits: WebLimits(connect: timeout, total: timeout),
                resolvers: route.settings.resolvers
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

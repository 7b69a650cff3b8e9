import Configuration
import Credentials
import HTTPClient
import System
import Tokens

/// The thread that fetches the keys of one issuer: at its start, before the keys get old,
/// repeatedly while the issuer is unreachable, and when a token names an unknown key.
final class TokenKeyFetcher: Sendable {
    struct Pace: Sendable {
        /// The pause between two fetches that tokens with unknown keys cause.
        var unknownPause: Duration = .seconds(60)
        /// The pause after a failure; it doubles with each further one.
        var firstRetry: Duration = .seconds(2)
        var retryMax: Duration = .seconds(60)
        var limits = WebLimits(connect: .seconds(5), total: .seconds(10))
    }

    let source: TokenKeySource
    let algorithm: TokenAlgorithm
    let keys: FetchedTokenKeys
    private let wake: WakeUp
    private let interruption: Interruption
    private let worker = Locked<Worker?>(nil)
    private let pace: Pace

    init(
        _ source: TokenKeySource,
        _ algorithm: TokenAlgorithm,
        pace: Pace
    ) throws(SystemError) {
        self.source = source
        self.algorithm = algorithm
        self.pace = pace
        let wake = try WakeUp()
        self.wake = wake
        interruption = try Interruption()
        keys = FetchedTokenKeys { wake.signal() }
    }

    /// Called once.
    func start(_ journal: Journal) throws(SystemError) {
        let worker = try Worker("token-keys") { [self] in run(journal) }
        self.worker.withLock { $0 = worker }
    }

    /// Ends the thread at once, even during a fetch.
    func stop() {
        interruption.set()
        wake.signal()
        worker.withLock { $0.take() }?.join()
    }

    private func run(_ journal: Journal) {
        var failures = 0
        while !interruption.isSet {
            let began = Moment.now
            if let problem = fetch(began, journal) {
                guard !interruption.isSet else { return }
                failures += 1
                keys.fail(problem)
                if failures == 1 { tell(problem, journal) }
                let wait = pace.firstRetry * (1 << min(failures - 1, 10))
                rest(until: Moment.now + min(wait, pace.retryMax), earliest: nil)
            } else {
                if failures > 0 {
                    journal.info("the issuer's keys can be fetched again", ["name": source.name])
                }
                failures = 0
                rest(until: began + source.refresh, earliest: began + pace.unknownPause)
            }
        }
    }

    /// Rests until `end`, or from `earliest` on until a token asks for an unknown key.
    private func rest(until end: Moment, earliest: Moment?) {
        while !interruption.isSet, Moment.now < end {
            // A wish before `earliest` is kept.
            if let earliest, Moment.now >= earliest, keys.takeWish() { return }
            let next = earliest.map { Moment.now < $0 ? min($0, end) : end } ?? end
            wake.wait(timeout: next - .now)
        }
        _ = keys.takeWish()
    }

    /// Returns the problem; nil when keys came.
    private func fetch(_ began: Moment, _ journal: Journal) -> String? {
        do throws(WebFailure) {
            let answer = try WebClient(interruption: interruption).get(
                source.url,
                authorities: source.authorities,
                limits: pace.limits
            )
            guard answer.status == 200 else { return "it answers \(answer.status)" }
            return take(answer.body, began, journal)
        } catch {
            return switch error {
            case .interrupted: "the gateway stops"
            case .tooLarge: "its answer is larger than 64 KiB"
            case .noAnswer(let reason): "no answer: \(reason)"
            }
        }
    }

    private func take(_ body: [UInt8], _ began: Moment, _ journal: Journal) -> String? {
        do throws(TokenKeySetProblem) {
            let set = try TokenKeySet(body, algorithm)
            if keys.take(set, began: began, at: .now) {
                journal.info(
                    "the issuer's keys for tokens are here",
                    ["name": source.name, "url": source.place, "keys": set.count]
                )
            }
            return nil
        } catch {
            return "what it gives \(error.description)"
        }
    }

    private func tell(_ problem: String, _ journal: Journal) {
        let isNew = keys.status.fetched == nil
        journal.warning(
            isNew
                ? "the issuer's keys cannot be fetched; requests with its tokens get 503 until they are here"
                : "the issuer's keys cannot be fetched; those that are here stay",
            [
                "name": source.name, "url": source.place, "problem": problem,
                "remedy": "check keys_url and ca_file of devices.jwt, and what answers there",
            ]
        )
    }
}

import Configuration
import Credentials
import HTTPClient
package import System
package import Tokens

/// The issuers whose keys are fetched. An issuer that a reload keeps also keeps its keys and its
/// thread.
package final class TokenKeySources: Sendable {
    package struct Status: Sendable, Equatable {
        package let name: String
        /// The address without the query.
        package let place: String
        package let keys: FetchedTokenKeys.Status
    }

    private struct State {
        var fetchers: [TokenKeyFetcher] = []
        /// nil until the gateway runs; nothing is fetched before.
        var journal: Journal?
    }

    private let state = Locked(State())
    private let pace: TokenKeyFetcher.Pace

    init(pace: TokenKeyFetcher.Pace = TokenKeyFetcher.Pace()) {
        self.pace = pace
    }

    package var status: [Status] {
        state.withLock(\.fetchers).map {
            Status(name: $0.source.name, place: $0.source.place, keys: $0.keys.status)
        }
    }

    /// Uses these issuers, and returns their keys in the same order. For one thread only.
    func use(_ tokens: DeviceTokens?) -> [FetchedTokenKeys] {
        let (before, journal) = state.withLock { ($0.fetchers, $0.journal) }
        var next: [TokenKeyFetcher] = []
        var keys: [FetchedTokenKeys] = []
        for source in tokens?.sources ?? [] {
            let algorithm = tokens?.rules.algorithm ?? .rs256
            let known = before.first { $0.source == source && $0.algorithm == algorithm }
            let fetcher = known ?? make(source, algorithm, journal)
            if let fetcher { next.append(fetcher) }
            // Without a thread, its tokens wait for keys.
            keys.append(fetcher?.keys ?? FetchedTokenKeys {})
        }
        let fetchers = next
        state.withLock { $0.fetchers = fetchers }
        for fetcher in before where !fetchers.contains(where: { $0 === fetcher }) { fetcher.stop() }
        return keys
    }

    package func start(_ journal: Journal) throws(SystemError) {
        let fetchers = state.withLock { state in
            state.journal = journal
            return state.fetchers
        }
        for fetcher in fetchers { try fetcher.start(journal) }
    }

    package func stop() {
        let fetchers = state.withLock(\.fetchers)
        for fetcher in fetchers { fetcher.stop() }
    }

    private func make(
        _ source: TokenKeySource,
        _ algorithm: TokenAlgorithm,
        _ journal: Journal?
    ) -> TokenKeyFetcher? {
        do throws(SystemError) {
            let fetcher = try TokenKeyFetcher(source, algorithm, pace: pace)
            if let journal { try fetcher.start(journal) }
            return fetcher
        } catch {
            // Without descriptors little else works either.
            journal?.error(
                "the issuer's keys are not fetched",
                ["name": source.name, "problem": "\(error)"]
            )
            return nil
        }
    }
}

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

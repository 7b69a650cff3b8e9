import Configuration
package import System
package import Tokens

/// The issuers whose keys are fetched. An issuer that a reload keeps also keeps its keys and its
/// thread.
package final class TokenKeySources: Sendable {
    /// The state of one issuer.
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

    /// Starts fetching.
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

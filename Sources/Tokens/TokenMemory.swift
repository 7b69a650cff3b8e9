import Crypto
package import System

/// Tokens that were found good, so that a signature is computed once and not with each request. Shared by all loops.
///
/// Two generations: when the younger one is full the older one is forgotten, so what is used stays, and it costs no
/// list of who was used last.
package final class TokenMemory: Sendable {
    package static let tokensMax = 20_000

    private typealias Generation = [SIMD4<UInt64>: VerifiedToken]

    private struct State {
        /// Of the fetched keys.
        var generation = 0
        var young: Generation = [:]
        var old: Generation = [:]

        mutating func add(_ token: VerifiedToken, _ mark: SIMD4<UInt64>, _ tokensMax: Int) {
            if young.count >= tokensMax / 2 {
                old = young
                young = [:]
            }
            young[mark] = token
        }
    }

    private let rules: TokenRules
    private let fetched: [FetchedTokenKeys]
    private let tokensMax: Int
    private let state = Locked(State())

    package init(
        _ rules: TokenRules,
        fetched: [FetchedTokenKeys] = [],
        tokensMax: Int = tokensMax
    ) {
        self.rules = rules
        self.fetched = fetched
        self.tokensMax = tokensMax
    }

    package var count: Int { state.withLock { $0.young.count + $0.old.count } }

    package func verify(
        _ token: ArraySlice<UInt8>,
        at now: WallTime
    ) throws(TokenProblem) -> VerifiedToken {
        guard token.count <= TokenRules.bytesMax else { throw .unreadable }
        // Who finds two tokens of one digest could forge signatures, too.
        let mark = token.withUnsafeBytes { Digest.sha256($0) }.withUnsafeBytes {
            $0.loadUnaligned(as: SIMD4<UInt64>.self)
        }
        // Before the keys are looked at, so that what a key vouched for is not kept beyond it.
        let generation = fetched.reduce(0) { $0 + $1.generation }
        if let known = find(mark, generation) {
            guard known.end > now.seconds else { throw .expired }
            return known
        }
        let verified = try rules.verify(token, at: now, fetched: fetched)
        keep(verified, mark, generation)
        return verified
    }

    private func find(_ mark: SIMD4<UInt64>, _ generation: Int) -> VerifiedToken? {
        state.withLock { state in
            // A key that an issuer took back vouches for nobody any more.
            guard state.generation == generation else { return nil }
            if let token = state.young[mark] { return token }
            guard let token = state.old.removeValue(forKey: mark) else { return nil }
            state.add(token, mark, tokensMax)
            return token
        }
    }

    private func keep(_ token: VerifiedToken, _ mark: SIMD4<UInt64>, _ generation: Int) {
        state.withLock { state in
            guard generation >= state.generation else { return }
            if generation > state.generation {
                (state.young, state.old, state.generation) = ([:], [:], generation)
            }
            state.add(token, mark, tokensMax)
        }
    }
}

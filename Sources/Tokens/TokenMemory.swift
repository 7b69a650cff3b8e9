import Crypto
package import System

/// A cache of verified tokens, so that each signature is checked once and not with each request.
/// All loops share it.
///
/// It has two generations. When the younger one is full, the older one is dropped. Tokens in use
/// stay, without the cost of a least-recently-used list.
package final class TokenMemory: Sendable {
    package static let tokensMax = 20_000

    private typealias Generation = [SIMD4<UInt64>: VerifiedToken]

    private struct State {
        /// The generation of the fetched keys.
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
        // SHA-256 identifies the token; a collision would break signatures too.
        let mark = token.withUnsafeBytes { Digest.sha256($0) }.withUnsafeBytes {
            $0.loadUnaligned(as: SIMD4<UInt64>.self)
        }
        // Read before the keys are used, so that a token never outlives a change of the keys.
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
            // After a change of the keys all tokens are checked again, because an issuer may have
            // withdrawn a key.
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

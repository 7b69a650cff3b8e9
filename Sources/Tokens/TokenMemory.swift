import SLS
package import System

/// Tokens that were found good, so that a signature is computed once and not with each request. Shared by all loops.
///
/// Two generations: when the younger one is full the older one is forgotten, so what is used stays, and it costs no
/// list of who was used last.
package final class TokenMemory: Sendable {
    package static let tokensMax = 20_000

    private typealias Generation = [SIMD4<UInt64>: VerifiedToken]

    private struct State {
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
    private let tokensMax: Int
    private let state = Locked(State())

    package init(_ rules: TokenRules, tokensMax: Int = tokensMax) {
        self.rules = rules
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
        if let known = find(mark) {
            guard known.end > now.seconds else { throw .expired }
            return known
        }
        let verified = try rules.verify(token, at: now)
        keep(verified, mark)
        return verified
    }

    private func find(_ mark: SIMD4<UInt64>) -> VerifiedToken? {
        state.withLock { state in
            if let token = state.young[mark] { return token }
            guard let token = state.old.removeValue(forKey: mark) else { return nil }
            state.add(token, mark, tokensMax)
            return token
        }
    }

    private func keep(_ token: VerifiedToken, _ mark: SIMD4<UInt64>) {
        state.withLock { $0.add(token, mark, tokensMax) }
    }
}

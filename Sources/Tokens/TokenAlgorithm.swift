/// The signature algorithm of tokens (RFC 7518 section 3.1). The operator chooses it; a token's own
/// `alg` must match.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// Signed with a secret that both sides share.
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"

    package var hasSecret: Bool { self == .hs256 }
}

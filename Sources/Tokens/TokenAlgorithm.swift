/// How tokens are signed (RFC 7518 section 3.1). The operator says which one; what a token says of itself only has to be
/// the same.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// With a secret that both sides have.
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"

    package var hasSecret: Bool { self == .hs256 }
}

/// Why a token is refused.
package enum TokenProblem: Error, Equatable {
    /// Not in the compact form, or ambiguous to read.
    case unreadable
    /// Another algorithm, an unknown key, or an invalid signature.
    case untrusted
    case expired
    /// The issuer's keys, or the key that the token names, are not fetched yet.
    case keysAwaited
    /// Not yet valid, for another audience, from another issuer, or without a required claim.
    case unfit
}

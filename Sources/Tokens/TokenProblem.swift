/// Why a token is not taken.
package enum TokenProblem: Error, Equatable {
    /// No token in the compact form, or one that two readers could read differently.
    case unreadable
    /// Another algorithm, a key that is not known here, or not signed with it.
    case untrusted
    case expired
    /// Its issuer's keys are not here, or not the one that it names.
    case keysAwaited
    /// Not yet, for another audience, from another issuer, or without what has to be in it.
    case unfit
}

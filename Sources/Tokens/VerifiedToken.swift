/// What a good token says.
package struct VerifiedToken: Sendable, Equatable {
    /// The place of its key in the rules; behind them that of the issuer whose keys were fetched.
    package let key: Int
    /// The second from which on it does not count.
    package let end: Int64
    /// Where it may send; nil where it does not say.
    package let destinations: Set<String>?
    /// Whom the issuer gave it to (`sub`), up to `subjectBytesMax`; nil where it does not say.
    package let subject: String?

    package static let subjectBytesMax = 256
}

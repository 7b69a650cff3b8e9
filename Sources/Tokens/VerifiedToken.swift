/// The content of a verified token.
package struct VerifiedToken: Sendable, Equatable {
    /// The index of its key in the rules, followed by the issuers whose keys are fetched.
    package let key: Int
    /// The second at which the token expires.
    package let end: Int64
    /// The destinations it allows; nil if it names none.
    package let destinations: Set<String>?
    /// The subject (`sub`), at most `subjectBytesMax` bytes; nil if it has none.
    package let subject: String?

    package static let subjectBytesMax = 256
}

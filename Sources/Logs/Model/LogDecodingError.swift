/// Why a body cannot be read as logs, for the developer who sent it.
package struct LogDecodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Decides the status and the code of the answer, which clients go by.
    package enum Kind: Sendable {
        /// The body is malformed.
        case unreadable
        /// The body, or its logs, exceed a limit.
        case tooLarge
        /// A compressed part is damaged, or has another size than declared.
        case notInflatable
        /// Nothing is wrong with the body; the gateway has no memory for it now.
        case noMemory
    }

    /// The byte of the body where reading ended, from zero.
    package let position: Int
    /// One sentence without anything from the body, so it can be logged.
    package let reason: String
    package let kind: Kind

    package init(position: Int, reason: String, kind: Kind = .unreadable) {
        self.position = position
        self.reason = reason
        self.kind = kind
    }

    package var description: String { "\(reason) (at byte \(position))" }
}

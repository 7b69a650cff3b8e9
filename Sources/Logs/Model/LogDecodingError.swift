/// Why a body cannot be read as logs, for the developer who sent it.
package struct LogDecodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Clients go by the status and the code of an answer, and those by this.
    package enum Kind: Sendable {
        /// It is not what it should be.
        case unreadable
        /// It, or what it becomes, is more than is taken.
        case tooLarge
        /// What is compressed in it is damaged, or of another size.
        case notInflatable
        /// Nothing is wrong with it; the gateway has no memory for it now.
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

/// Why a body cannot be read as logs, for the developer who sent it.
package struct LogDecodingError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The byte of the body where reading ended, from zero.
    package let position: Int
    /// One sentence without anything from the body, so it can be logged.
    package let reason: String

    package init(position: Int, reason: String) {
        self.position = position
        self.reason = reason
    }

    package var description: String { "\(reason) (at byte \(position))" }
}

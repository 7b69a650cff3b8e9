/// Why a text is no pattern.
package struct PatternProblem: Error, Equatable, CustomStringConvertible {
    /// The byte at which it goes wrong.
    package let position: Int
    package let reason: String

    package init(position: Int, reason: String) {
        self.position = position
        self.reason = reason
    }

    package var description: String { "\(reason) (at byte \(position) of the pattern)" }
}

/// Why the gateway cannot start, in one line with the remedy.
package struct StartProblem: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

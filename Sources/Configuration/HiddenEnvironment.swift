/// The environment's variables, some of which are secrets: printing them shows their names only.
package struct HiddenEnvironment: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    package let variables: [String: String]

    package init(_ variables: [String: String] = [:]) {
        self.variables = variables
    }

    package var description: String { "\(variables.keys.sorted())" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

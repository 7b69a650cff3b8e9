/// One thing that is wrong with the configuration: where, which setting, and what would be right.
package struct ConfigurationProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Place: Hashable, Sendable {
        case file(String, line: Int)
        /// The name of an environment variable.
        case environment(String)
        /// A command line option, with its dashes.
        case option(String)
        /// What an operator decided while the gateway ran.
        case decided
        /// What follows from all of it together.
        case whole
    }

    package let place: Place
    /// The path of the setting, as in "destinations.app.endpoint"; empty where it is none.
    package let key: String
    package let text: String

    /// "sluice.yaml:7: queue.max_bytes: …"
    package var description: String {
        let start =
            switch place {
            case .file(let path, let line): "\(path):\(line): "
            case .environment(let name): "environment: \(name): "
            case .option(let name): "\(name): "
            case .decided, .whole: ""
            }
        // An option or variable names the setting itself.
        if case .environment = place { return start + text }
        if case .option = place { return start + text }
        return start + (key.isEmpty ? "" : "\(key): ") + text
    }
}

/// Everything that is wrong, in the order of the file.
package struct ConfigurationProblems: Error, Equatable, Sendable, CustomStringConvertible {
    package let problems: [ConfigurationProblem]

    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}

/// The destinations of logs whose tag matches.
package struct Route: Sendable, Equatable {
    package static let routesMax = 1024
    package static let destinationsMax = 16

    /// None: every tag.
    package var patterns: [TagPattern]
    /// Names of destinations. None: the log is dropped on purpose, and counted.
    package var destinations: [String]
    /// True: later routes do not see what this one matches.
    package var isLast: Bool

    package init(patterns: [TagPattern] = [], to destinations: [String], isLast: Bool = false) {
        self.patterns = patterns
        self.destinations = destinations
        self.isLast = isLast
    }
}

/// What becomes of a log that no route takes.
package enum Unrouted: String, Sendable, CaseIterable {
    case defaultDestination = "default"
    case drop
    /// A dead letter of the default destination.
    case deadLetter = "dead_letter"
}

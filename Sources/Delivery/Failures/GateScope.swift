/// How far a failure reaches, and whose gate it moves.
package enum GateScope: String, Sendable, CaseIterable {
    /// An endpoint, shared by the destinations that have it.
    case endpoint
    /// What a project's quota lets through, shared by the destinations that write to the project.
    case quota
    /// A destination.
    case project
    /// One logstore of a destination.
    case logstore

    /// True when the other scope lies within this one.
    func holds(_ other: GateScope) -> Bool {
        switch (self, other) {
        case (.endpoint, .quota), (.endpoint, .project), (.endpoint, .logstore): true
        // A refusal for the project's quota proves that the credential is good for the project.
        case (.project, .quota), (.project, .logstore), (.quota, .logstore): true
        default: false
        }
    }
}

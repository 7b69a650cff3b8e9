/// How far a failure reaches, and whose gate it moves.
package enum GateScope: String, Sendable, CaseIterable {
    /// An endpoint, shared by the destinations that have it.
    case region
    /// A destination.
    case project
    /// One logstore of a destination.
    case logstore

    /// Whether the other lies within this one.
    func holds(_ other: GateScope) -> Bool {
        switch (self, other) {
        case (.region, .project), (.region, .logstore), (.project, .logstore): true
        default: false
        }
    }
}

/// How far a shard has absorbed another one.
package enum AbsorptionProgress: Equatable, Sendable {
    /// Nothing is taken over yet. The other shard may not even be ceded.
    case intended
    case begun
    /// All is taken over, and the other shard's log can be removed.
    case done
}

/// What a shard knows of others, at its last commit.
struct AbsorptionState: Equatable {
    var cededTo: String?
    var absorptions: [String: AbsorptionProgress] = [:]
}

extension AbsorptionBook {
    var state: AbsorptionState {
        AbsorptionState(cededTo: cededTo, absorptions: stages.mapValues(AbsorptionProgress.init))
    }
}

extension AbsorptionProgress {
    fileprivate init(_ stage: AbsorptionBook.Stage) {
        switch stage {
        case .letters(after: 0): self = .intended
        case .letters, .requests: self = .begun
        case .done: self = .done
        }
    }
}

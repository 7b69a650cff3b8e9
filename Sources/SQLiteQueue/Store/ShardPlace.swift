/// How far a shard has absorbed another one.
package enum AbsorptionProgress: Equatable, Sendable {
    /// Nothing is taken over yet. The other shard may not even be ceded.
    case intended
    case begun
    /// All is taken over, and the other shard's log can be removed.
    case done
}

/// What a shard knows of others, at its last commit.
struct ShardPlace: Equatable {
    var cededTo: String?
    var absorptions: [String: AbsorptionProgress] = [:]
}

extension Absorptions {
    var place: ShardPlace {
        ShardPlace(cededTo: cededTo, absorptions: stages.mapValues(AbsorptionProgress.init))
    }
}

extension AbsorptionProgress {
    fileprivate init(_ stage: Absorptions.Stage) {
        switch stage {
        case .letters(after: 0): self = .intended
        case .letters, .requests: self = .begun
        case .done: self = .done
        }
    }
}

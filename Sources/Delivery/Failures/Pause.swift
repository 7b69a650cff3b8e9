/// Why a gate is closed.
struct Pause {
    let failure: DeliveryFailure
    /// How far the failure reached.
    let scope: GateScope

    /// Another credential may end it.
    var mayEndWithCredential: Bool {
        failure.kind == .unauthorized || failure.kind == .suspended
    }

    /// Another endpoint may end it.
    var isUnanswered: Bool { scope == .endpoint || failure.kind == .network }

    /// The host's clock may end it.
    var isClockPause: Bool { failure.kind == .clock && scope == .logstore }
}

/// Why deliveries stood still, as a class that metrics count.
package enum PauseReason: Hashable, Sendable {
    /// A gate closed after such a failure: of the endpoint, the project's quota, the destination or a logstore.
    case failure(DeliveryFailure.Kind)
    /// There was no credential to sign with.
    case credential
    /// An operator held the destination.
    case held

    package static let all: [PauseReason] =
        DeliveryFailure.Kind.allCases.map { .failure($0) } + [.credential, .held]

    package var name: String {
        switch self {
        case .failure(let kind): kind.rawValue
        case .credential: "credential"
        case .held: "held"
        }
    }
}

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

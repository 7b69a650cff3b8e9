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
    /// A gate closed after such a failure: of the endpoint, the project's quota, the destination or
    /// a logstore.
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

/// Why deliveries stood still, as a class that metrics count.
package enum PauseReason: Hashable, Sendable {
    /// A gate closed after such a failure: of the endpoint, the project's quota, the destination or a logstore.
    case failure(DeliveryFailure.Kind)
    /// There was no credential to sign with.
    case credential
    /// An operator wanted it.
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

import SLS

/// Refused credentials that the other destinations of the same credential still have to be told of.
final class CredentialRefusals {
    struct Refusal {
        let destination: String
        let name: String
        let credential: Credential
        let failure: DeliveryFailure
        /// The code does not say if the credential or the logstore is refused.
        let isUndecided: Bool
    }

    private var untold: [Refusal] = []

    func add(_ refusal: Refusal) { untold.append(refusal) }

    func takeAll() -> [Refusal] {
        guard !untold.isEmpty else { return [] }
        defer { untold = [] }
        return untold
    }
}

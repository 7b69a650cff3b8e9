import SLS
import System

/// The last refusals and acceptances of the credential that a destination signs with.
struct CredentialStanding {
    /// How long a credential that was refused once counts as good after each packet stored with it.
    static let goodFor: Duration = .seconds(60)

    private var refusal: (credential: Credential, at: Moment)?
    /// Refused once, and good since.
    private var cleared: (credential: Credential, lastStored: Moment)?

    /// SLS refused the credential itself. Returns true when that is news.
    mutating func refused(_ credential: Credential, _ now: Moment) -> Bool {
        if cleared?.credential == credential { cleared = nil }
        guard refusal?.credential != credential else { return false }
        refusal = (credential, now)
        return true
    }

    /// SLS stored a packet that was signed with the credential and sent at `sent`. Returns true
    /// when that ends a refusal.
    mutating func stored(_ credential: Credential, sent: Moment, _ now: Moment) -> Bool {
        if cleared?.credential == credential { cleared = (credential, now) }
        guard let refusal else { return false }
        if refusal.credential == credential {
            // What was sent before the refusal does not contradict it.
            guard sent >= refusal.at else { return false }
            cleared = (credential, now)
        }
        self.refusal = nil
        return true
    }

    /// True when SLS refused the credential and has stored packets signed with it since. An unknown
    /// refusal then concerns the logstore.
    func isGoodElsewhere(_ credential: Credential, _ now: Moment) -> Bool {
        guard let cleared, cleared.credential == credential else { return false }
        return now - cleared.lastStored < Self.goodFor
    }
}

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

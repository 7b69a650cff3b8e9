import SLS
import System

/// Who signs a request.
enum Signer {
    /// The destination needs no signature.
    case nobody
    case credential(Credential)

    var credential: Credential? {
        switch self {
        case .nobody: nil
        case .credential(let credential): credential
        }
    }
}

/// A destination's credential: whether there is one, and what SLS said of it. A destination that
/// needs none never waits for one.
struct DestinationCredential {
    private let destination: String
    private var name: String?
    private let door: CredentialDoor
    private let refusals: CredentialRefusals
    private var access: CredentialAccess?
    private var standing = CredentialStanding()

    init(_ settings: DestinationSettings, _ door: CredentialDoor, _ refusals: CredentialRefusals) {
        destination = settings.name
        name = settings.credential
        self.door = door
        self.refusals = refusals
        access = name.map(CredentialAccess.init)
    }

    // MARK: - Its presence

    var isMissing: Bool { access?.isWaiting ?? false }
    /// When to look again while there is none.
    var nextLook: Moment? { access?.nextLook }
    /// Why there is none; nil while there is one, and before the first look.
    var problem: String? { access?.problem }

    /// Who signs a request just now; nil while the credential is missing. Told to the reporter when
    /// that changes.
    mutating func look(_ now: Moment, _ reporter: DeliveryReporter) -> Signer? {
        guard let name, let (credential, change) = access?.look(now, door) else { return .nobody }
        reporter.credentialChanged(name, change)
        return credential.map { .credential($0) }
    }

    /// Something has changed about credentials.
    mutating func lookNow() { access?.lookNow() }

    /// The settings may name another one.
    mutating func use(_ name: String?) {
        guard name != self.name else { return }
        self.name = name
        access = name.map(CredentialAccess.init)
    }

    /// True when a request that is signed now would be signed with this one.
    func isCurrent(_ credential: Credential?) -> Bool {
        name.flatMap(door.credential) == credential
    }

    // MARK: - What SLS says of it

    /// A refusal with an unknown code may mean the credential or the logstore. True when packets of
    /// other logstores are stored with the credential, so that only the logstore is refused.
    func isGoodElsewhere(_ judgement: Judgement, _ credential: Credential?, _ now: Moment) -> Bool {
        guard let credential else { return false }
        return judgement.isOfUnknownUnauthorized && standing.isGoodElsewhere(credential, now)
    }

    /// Reports a credential that is refused, or accepted again, when that is news: to its keeper,
    /// and to other destinations that sign with it.
    mutating func report(
        _ judgement: Judgement,
        _ failure: DeliveryFailure?,
        _ credential: Credential?,
        sent: Moment,
        _ now: Moment
    ) {
        guard let name, let credential else { return }
        if judgement.isOfCredential {
            guard standing.refused(credential, now) else { return }
            door.refused(name, credential)
            guard let failure else { return }
            refusals.add(
                .init(
                    destination: destination,
                    name: name,
                    credential: credential,
                    failure: failure,
                    isUndecided: judgement.isOfUnknownUnauthorized
                )
            )
        } else if judgement.action == .acknowledge, standing.stored(credential, sent: sent, now) {
            door.accepted(name)
        }
    }

    /// True when a refusal that another destination got would have been this one's, too.
    func isConcerned(by refusal: CredentialRefusals.Refusal) -> Bool {
        refusal.destination != destination && refusal.name == name
            && isCurrent(refusal.credential)
    }
}

import Configuration
package import SLS
import System

/// Delivery's access to the keeper of the credentials. All of it is called on the delivery thread,
/// so it must not wait.
package struct CredentialDoor: Sendable {
    /// The credential of a name as it is now, or nil while there is none; asked for before each
    /// packet.
    package var credential: @Sendable (String) -> Credential?
    /// Why there is no credential of a name, where that is known.
    package var absence: @Sendable (String) -> String? = { _ in nil }
    /// SLS refused it, or took it again after that.
    package var refused: @Sendable (String, Credential) -> Void = { _, _ in }
    package var accepted: @Sendable (String) -> Void = { _ in }

    package init(_ credential: @escaping @Sendable (String) -> Credential?) {
        self.credential = credential
    }
}

/// Who signs a request.
enum Signer: Equatable {
    /// The destination needs no signature.
    case nobody
    case credential(Credential)

    var credential: Credential? {
        if case .credential(let credential) = self { credential } else { nil }
    }
}

/// A destination's credential: whether there is one, and what SLS said of it. A destination that
/// needs none never waits for one.
///
/// It is looked for with each packet, and while there is none, again with growing waits.
struct DestinationCredential {
    /// What a look has found that is news for operators.
    enum Change: Equatable {
        case none
        /// It was there from the start.
        case first
        case found
        case lost(reason: String)
    }

    private struct Wait {
        var until = Moment(nanoseconds: 0)
        var looks = 0
        var reason: String?
    }

    private let destination: String
    private(set) var name: String?
    private let door: CredentialDoor
    private let refusals: CredentialRefusals
    private var wait: Wait?
    private var standing = CredentialStanding()

    init(_ settings: Destination, _ door: CredentialDoor, _ refusals: CredentialRefusals) {
        destination = settings.name
        name = settings.credentialInUse
        self.door = door
        self.refusals = refusals
        if name != nil { wait = Wait() }
    }

    // MARK: - Its presence

    var isMissing: Bool { wait != nil }
    /// When to look again while there is none.
    var nextLook: Moment? { wait?.until }
    /// Why there is none; nil while there is one, and before the first look.
    var problem: String? { wait?.reason }

    /// Who signs a request just now, nil while the credential is missing; and what has changed.
    mutating func look(_ now: Moment) -> (Signer?, Change) {
        guard let name else { return (.nobody, .none) }
        if let wait, now < wait.until { return (nil, .none) }
        let credential = door.credential(name)
        if let credential, credential.problem == nil {
            defer { wait = nil }
            guard let wait else { return (.credential(credential), .none) }
            return (.credential(credential), wait.reason == nil ? .first : .found)
        }
        let reason =
            credential?.problem ?? door.absence(name)
            ?? "there is no credential of the name '\(name)'"
        let looks = (wait?.looks ?? 0) + 1
        // No jitter: this asks a table in memory, not a server.
        let until = now + Backoff.credential.window(after: looks)
        defer { wait = Wait(until: until, looks: looks, reason: reason) }
        return (nil, wait?.reason == reason ? .none : .lost(reason: reason))
    }

    /// Something has changed about credentials.
    mutating func lookNow() { wait?.until = Moment(nanoseconds: 0) }

    /// The settings may name another one.
    mutating func use(_ name: String?) {
        guard name != self.name else { return }
        self.name = name
        wait = name.map { _ in Wait() }
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
        as failure: DeliveryFailure?,
        of credential: Credential?,
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

/// The last refusals and acceptances of the credential that a destination signs with.
struct CredentialStanding {
    /// How long a credential that was refused once counts as good after each packet stored with it.
    private static let goodFor: Duration = .seconds(60)

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

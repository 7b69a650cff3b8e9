package import SLS
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

/// Looks for a destination's credential: with each packet, and while there is none, again and again
/// with growing waits.
struct CredentialAccess {
    enum Change: Equatable {
        case none
        /// It was there from the start.
        case first
        case found
        case lost(reason: String)
    }

    private struct Wait {
        var until: Moment
        var looks = 0
        var reason: String?
    }

    private let name: String
    private var wait: Wait? = Wait(until: Moment(nanoseconds: 0))

    init(_ name: String) {
        self.name = name
    }

    var isWaiting: Bool { wait != nil }
    var nextLook: Moment? { wait?.until }
    /// Why there is none; nil while there is one, and before the first look.
    var problem: String? { wait?.reason }

    private func absence(_ credentials: CredentialDoor) -> String {
        credentials.absence(name) ?? "there is no credential of the name '\(name)'"
    }

    mutating func lookNow() {
        wait?.until = Moment(nanoseconds: 0)
    }

    mutating func look(
        _ now: Moment,
        _ credentials: CredentialDoor
    ) -> (Credential?, Change) {
        if let wait, now < wait.until { return (nil, .none) }
        let credential = credentials.credential(name)
        let problem = credential.map(\.problem) ?? absence(credentials)
        guard let problem else {
            defer { wait = nil }
            guard let wait else { return (credential, .none) }
            return (credential, wait.reason == nil ? .first : .found)
        }
        let looks = (wait?.looks ?? 0) + 1
        // No jitter: this asks a table in memory, not a server.
        let until = now + Backoff.credential.window(after: looks)
        defer { wait = Wait(until: until, looks: looks, reason: problem) }
        return (nil, wait?.reason == problem ? .none : .lost(reason: problem))
    }
}

/// Delivery's door to the keeper of the credentials. All of it is called on the delivery thread, so
/// it must not wait.
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

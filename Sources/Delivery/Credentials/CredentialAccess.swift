package import SLS
import System

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

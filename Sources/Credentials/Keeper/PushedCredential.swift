import SLS
package import System

/// A credential that was pushed through the admin listener and may be stored in the database.
package struct PushedCredential: Sendable, Equatable {
    package var supplied: SuppliedCredential
    /// nil: in use since it was pushed.
    package var activation: WallTime?

    package init(_ supplied: SuppliedCredential, activation: WallTime? = nil) {
        self.supplied = supplied
        self.activation = activation
    }

    /// Parses the body of a rotation.
    package init(json: [UInt8], origin: String, now: WallTime) throws(PushRefusal) {
        guard let document = CredentialDocument(json: json) else { throw .unreadable }
        guard document.unknown.isEmpty else { throw .unknownMembers(document.unknown) }
        guard document.doubled.isEmpty else { throw .doubledMembers(document.doubled) }
        guard let credential = document.credential else { throw .incomplete(document.missing) }
        guard !document.hasForeignToken else { throw .foreignToken }
        func time(_ text: String?, _ name: String) throws(PushRefusal) -> WallTime? {
            guard let text else { return nil }
            guard let time = WallTime(iso8601: text) else { throw .notATime(name) }
            return time
        }
        self.init(
            SuppliedCredential(
                credential,
                expiration: try time(document.expiration, "Expiration"),
                origin: origin,
                obtainedAt: now
            ),
            activation: try time(document.activation, "Activation")
        )
    }
}

/// Why a pushed credential is refused. The previous one stays in use.
package enum PushRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    case unknownName(String, known: [String])
    case unreadable
    case unknownMembers([String])
    case doubledMembers([String])
    case incomplete([String])
    /// The token belongs to another key.
    case foreignToken
    case notATime(String)
    /// Describes the fault of id, secret or token without its content.
    case unsendable(String)
    case expired(ago: Duration)
    case expiresBeforeActivation

    package var description: String {
        switch self {
        case .unknownName(let name, let known):
            "there is no credential named '\(name)'; there are \(known.joined(separator: ", "))"
        case .unreadable:
            "the body is not a JSON object with a credential; send it in STS's form: "
                + #"{"AccessKeyId":"…","AccessKeySecret":"…","SecurityToken":"…","Expiration":"…"}"#
        case .unknownMembers(let names):
            "unknown: \(names.map { String($0.prefix(64)) }.joined(separator: ", ")); allowed are AccessKeyId, AccessKeySecret, "
                + "SecurityToken, Expiration and Activation"
        case .doubledMembers(let names):
            "given twice: \(names.joined(separator: ", ")); send each member once, in one spelling"
        case .incomplete(let names):
            "the credential has no \(names.joined(separator: " and no ")); send all of it, as STS answers it"
        case .foreignToken:
            "the SecurityToken belongs to another key: an id that begins with LTAI has none; send what "
                + "belongs together"
        case .notATime(let name):
            "\(name) is not a time; write it like 2025-01-14T08:30:00Z"
        case .unsendable(let problem):
            "\(problem); enter it again, complete and on one line"
        case .expired(let ago):
            "the credential expired \(spokenDuration(ago)) ago; fetch a new one, and check the clock of "
                + "the gateway's host if this one is fresh"
        case .expiresBeforeActivation:
            "the credential expires before its activation; push one that lasts longer, or activate it earlier"
        }
    }
}

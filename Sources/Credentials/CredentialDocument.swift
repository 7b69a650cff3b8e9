package import Crypto
import JSON
package import SLS
import System

extension Credential {
    /// STS gives its keys such ids; they do not work without their token.
    static func isTemporary(_ accessKeyID: String) -> Bool { accessKeyID.hasPrefix("STS.") }
}

/// A JSON object with a credential, as STS, the ECS metadata service and a rotation write it:
/// wrapped in `Credentials` or not, in any common spelling.
package struct CredentialDocument: Sendable {
    package private(set) var accessKeyID: String?
    package private(set) var secret: Secret?
    package private(set) var securityToken: Secret?
    package private(set) var expiration: String?
    /// The time from which a pushed credential is used; nil means at once.
    package private(set) var activation: String?
    /// Unknown members.
    package private(set) var unknown: [String] = []
    /// Members that occur twice, in one spelling or two, so their value is ambiguous.
    package private(set) var doubled: [String] = []
    private var seen: Set<String> = []

    // Members of a refusal.
    private(set) var code: String?
    private(set) var message: String?
    private(set) var requestID: String?

    /// nil when it is no such object, or when a relevant value is neither text nor null.
    package init?(json: [UInt8]) {
        var reader = JSONReader(json)
        guard read(&reader, depth: 0), reader.isAtEnd else { return nil }
    }

    /// Required members that are missing.
    package var missing: [String] {
        var names: [String] = []
        if accessKeyID?.isEmpty ?? true { names.append("AccessKeyId") }
        if secret.map({ $0.byteCount == 0 }) ?? true { names.append("AccessKeySecret") }
        if accessKeyID.map(Credential.isTemporary) ?? false,
            securityToken.map({ $0.byteCount == 0 }) ?? true
        {
            names.append("SecurityToken")
        }
        return names
    }

    /// nil when a required member is missing.
    package var credential: Credential? {
        guard missing.isEmpty, let accessKeyID, let secret else { return nil }
        let token = securityToken.flatMap { $0.byteCount == 0 ? nil : $0 }
        return Credential(accessKeyID: accessKeyID, secret: secret, securityToken: token)
    }

    /// True if a token comes with a long-term key, which has none: it belongs to another key.
    package var hasForeignToken: Bool {
        accessKeyID?.hasPrefix("LTAI") == true && securityToken.map { $0.byteCount > 0 } == true
    }

    private mutating func read(_ reader: inout JSONReader, depth: Int) -> Bool {
        depth < 2 && reader.members { name, reader in readMember(name, &reader, depth: depth) }
    }

    private static let telling: Set = [
        "credentials", "accesskeyid", "accesskeysecret", "securitytoken", "expiration",
        "activation",
    ]

    private mutating func readMember(
        _ name: String,
        _ reader: inout JSONReader,
        depth: Int
    ) -> Bool {
        var meaning = name.lowercased().filter { $0 != "_" }
        if meaning == "ststoken" { meaning = "securitytoken" }
        let isNew = !Self.telling.contains(meaning) || seen.insert(meaning).inserted
        if !isNew, doubled.count < 16 { doubled.append(name) }
        switch meaning {
        case "credentials": return read(&reader, depth: depth + 1)
        case "accesskeyid": return readText(&reader, into: \.accessKeyID)
        case "accesskeysecret": return readSecret(&reader, into: \.secret)
        case "securitytoken": return readSecret(&reader, into: \.securityToken)
        case "expiration": return readText(&reader, into: \.expiration)
        case "activation": return readText(&reader, into: \.activation)
        case "code": return readText(&reader, into: \.code)
        case "message": return readText(&reader, into: \.message)
        case "requestid": return readText(&reader, into: \.requestID)
        case "assumedroleuser", "oidctokeninfo", "lastupdated", "hostid":
            return reader.skipValue()
        default:
            if unknown.count < 16 { unknown.append(name) }
            return reader.skipValue()
        }
    }

    private mutating func readText(
        _ reader: inout JSONReader,
        into member: WritableKeyPath<Self, String?>
    ) -> Bool {
        guard reader.isAtString else { return reader.takeNull() }
        self[keyPath: member] = reader.string()
        return self[keyPath: member] != nil
    }

    private mutating func readSecret(
        _ reader: inout JSONReader,
        into member: WritableKeyPath<Self, Secret?>
    ) -> Bool {
        guard reader.isAtString else { return reader.takeNull() }
        guard var bytes = reader.stringBytes() else { return false }
        self[keyPath: member] = bytes.withUnsafeBytes { Secret(copying: $0) }
        wipe(&bytes)
        return true
    }
}

import Crypto
import JSON
import SLS

/// One profile of a file: names and values as written.
struct Profile {
    /// "the profile 'default' of ~/.alibabacloud/credentials"
    let place: String
    let settings: [String: Secret]

    func text(_ names: String...) -> String? { first(of: names)?.revealed }

    func secret(_ names: String...) -> Secret? { first(of: names) }

    func needed(_ name: String, _ others: String...) throws(SourceProblem) -> String {
        guard let value = first(of: [name] + others) else { throw missing(name) }
        return value.revealed
    }

    /// The value of the first of these names that has one.
    private func first(of names: [String]) -> Secret? {
        names.lazy.compactMap { settings[$0] }.first { $0.byteCount > 0 }
    }

    func missing(_ name: String) -> SourceProblem {
        .temporary("\(place) has no \(name)", remedy: "complete it")
    }

    private enum Token { case needed, ifThere, leftBehind }

    /// The credential in the profile. Alibaba's tools leave an old token in a profile that was
    /// changed to a plain key, and do not send it.
    private func credential(_ tokenIs: Token) throws(SourceProblem) -> Credential {
        let id = try needed("access_key_id")
        guard let secret = self.secret("access_key_secret") else {
            throw missing("access_key_secret")
        }
        var token = self.secret("security_token", "sts_token")
        if tokenIs == .leftBehind, !Credential.isTemporary(id) { token = nil }
        guard token != nil || tokenIs != .needed else { throw missing("security_token") }
        return Credential(accessKeyID: id, secret: secret, securityToken: token)
    }

    var access: STSAccess {
        STSAccess(
            endpoint: text("sts_endpoint"),
            region: text("sts_region"),
            isVPC: text("enable_vpc").map { $0.lowercased() == "true" }
        )
    }

    /// The source that the profile's type or mode names. `base` finds the profile that another
    /// profile refers to.
    func source(
        _ base: (String) throws(SourceProblem) -> CredentialSource
    ) throws(SourceProblem) -> CredentialSource {
        guard let type = text("type", "mode") else { return .fixed(try credential(.ifThere)) }
        switch type.lowercased().filter({ $0 != "_" }) {
        case "accesskey", "ak":
            return .fixed(try credential(.leftBehind))
        case "sts", "ststoken":
            return .fixed(try credential(.needed))
        case "ramrolearn":
            return try assumeRole(.fixed(credential(.leftBehind)))
        case "chainableramrolearn":
            return try assumeRole(base(try needed("source_profile")))
        case "ecsramrole":
            var role = ECSRole()
            role.roleName = text("role_name", "ram_role_name")
            return .ecsRole(role)
        case "oidc", "oidcrolearn":
            var role = OIDCRole()
            role.roleARN = text("role_arn", "ram_role_arn")
            role.providerARN = text("oidc_provider_arn")
            role.tokenFile = text("oidc_token_file_path", "oidc_token_file")
            role.sessionName = text("role_session_name", "ram_session_name")
            role.seconds = seconds
            role.policy = text("policy")
            role.access = access
            return .oidcRole(role)
        case "credentialsuri":
            return .uri(URISource(uri: secret("credentials_uri")))
        default:
            throw .permanent(
                "\(place) is of the type '\(type.prefix(32))', which Sluice cannot use",
                remedy:
                    "use access_key, sts, ram_role_arn, ecs_ram_role, oidc_role_arn or credentials_uri"
            )
        }
    }

    private func assumeRole(_ caller: CredentialSource) throws(SourceProblem) -> CredentialSource {
        var role = AssumeRole(roleARN: try needed("role_arn", "ram_role_arn"), caller: caller)
        role.sessionName = text("role_session_name", "ram_session_name")
        role.externalID = text("external_id")
        role.policy = text("policy")
        role.seconds = seconds
        role.access = access
        return .assumeRole(role)
    }

    private var seconds: Int {
        text("role_session_expiration", "expired_seconds").flatMap(Int.init)
            .map { $0 > 0 ? $0 : 3600 } ?? 3600
    }
}

/// The command line tool's `~/.aliyun/config.json`.
struct CLIProfiles {
    private(set) var current: String?
    private(set) var profiles: [String: [String: Secret]] = [:]

    /// nil when the file is of another kind or incomplete.
    init?(_ json: [UInt8]) {
        var reader = JSONReader(json)
        guard reader.members({ name, reader in readMember(name, &reader) }), reader.isAtEnd else {
            return nil
        }
    }

    private mutating func readMember(_ name: String, _ reader: inout JSONReader) -> Bool {
        switch name {
        case "current":
            guard reader.isAtString else { return reader.takeNull() }
            current = reader.string()
            return current != nil
        case "profiles":
            if reader.takeNull() { return true }
            return reader.elements { reader in
                guard let profile = Self.profile(&reader) else { return false }
                // The file's size bounds their number.
                if let name = profile["name"]?.revealed { profiles[name] = profile }
                return true
            }
        default: return reader.skipValue()
        }
    }

    private static func profile(_ reader: inout JSONReader) -> [String: Secret]? {
        var settings: [String: Secret] = [:]
        let isWhole = reader.members { name, reader in
            if reader.isAtString {
                guard var bytes = reader.stringBytes() else { return false }
                settings[name] = bytes.withUnsafeBytes { Secret(copying: $0) }
                wipe(&bytes)
                return true
            }
            guard let literal = reader.literal() else { return reader.skipValue() }
            // No relevant number or word is longer.
            if literal != "null", literal.utf8.count <= 20 { settings[name] = Secret(literal) }
            return true
        }
        return isWhole ? settings : nil
    }
}

/// The SDKs' `~/.alibabacloud/credentials`: sections of `name = value`.
struct IniProfiles {
    private(set) var sections: [String: [String: Secret]] = [:]

    /// Bounds the number of values, each of which has its own memory pages.
    private static let linesMax = 2000

    /// nil when a line is malformed: the file may be half written.
    init?(_ bytes: [UInt8]) {
        var section = ""
        let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }
        guard lines.count <= Self.linesMax else { return nil }
        for line in lines {
            let text = Self.trimmed(line)
            guard let first = text.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";")
            else { continue }
            if first == UInt8(ascii: "[") {
                guard text.last == UInt8(ascii: "]") else { return nil }
                section = Self.string(Self.trimmed(text.dropFirst().dropLast()))
                sections[section] = sections[section] ?? [:]
                continue
            }
            guard let mark = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = Self.string(Self.trimmed(text[..<mark])).lowercased()
            let value = Self.value(text[(mark + 1)...])
            sections[section, default: [:]][name] = value.withUnsafeBytes { Secret(copying: $0) }
        }
    }

    /// Strips quotes around the value and a comment after a space, as the SDKs do.
    private static func value(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let text = trimmed(bytes)
        if let quote = text.first, "\"'`".utf8.contains(quote),
            let end = text.dropFirst().firstIndex(of: quote)
        {
            let rest = trimmed(text[(end + 1)...])
            if rest.first.map(isMark) ?? true { return text[text.startIndex + 1..<end] }
        }
        let comment = text.indices.first { index in
            isMark(text[index])
                && (index == text.startIndex || [0x20, 0x09].contains(text[index - 1]))
        }
        return trimmed(text[..<(comment ?? text.endIndex)])
    }

    /// The start of a comment.
    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";")
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        let end = start.lastIndex { $0 != 0x20 && $0 != 0x09 }
        return end.map { start[...$0] } ?? start.prefix(0)
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}

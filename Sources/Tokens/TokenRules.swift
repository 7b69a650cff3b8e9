package import Crypto
import JSON
package import System

/// Rules for accepting tokens (RFC 7519, and RFC 8725 where that is stricter).
package struct TokenRules: Sendable, Equatable {
    package static let bytesMax = 8 << 10

    package var algorithm: TokenAlgorithm
    package var keys: [TokenKey]
    /// A token must name one of these audiences; if the list is empty, it must name none.
    package var audiences: [String] = []
    package var issuer: String?
    /// The tolerated clock difference.
    package var leeway: Duration = .seconds(60)
    /// The claim that names the token's destinations.
    package var destinationsClaim: String?

    package init(algorithm: TokenAlgorithm, keys: [TokenKey]) {
        self.algorithm = algorithm
        self.keys = keys
    }

    /// Verifies the signature before it trusts the claims. `fetched` holds the keys of issuers that
    /// publish them.
    package func verify(
        _ token: ArraySlice<UInt8>,
        at now: WallTime,
        fetched: [FetchedTokenKeys] = []
    ) throws(TokenProblem) -> VerifiedToken {
        guard token.count <= Self.bytesMax else { throw .unreadable }
        let parts = token.split(
            separator: UInt8(ascii: "."),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard parts.count == 3, let header = object(parts[0]),
            let signature = base64Decoded(parts[2], .url)
        else { throw .unreadable }
        let message = token[parts[0].startIndex..<parts[1].endIndex]
        let index = try signer(of: message, signature, header, fetched)
        guard let claims = object(parts[1]) else { throw .unreadable }
        return try check(claims, index, now)
    }

    private func object(_ part: ArraySlice<UInt8>) -> TokenObject? {
        base64Decoded(part, .url).flatMap { TokenObject($0) }
    }

    /// The index of the key that signed the token. Issuers name their keys independently, so every
    /// key of that name is tried.
    private func signer(
        of message: ArraySlice<UInt8>,
        _ signature: [UInt8],
        _ header: TokenObject,
        _ fetched: [FetchedTokenKeys]
    ) throws(TokenProblem) -> Int {
        // RFC 7515 section 4.1.11: the listed extensions must be understood, and none is.
        guard header["crit"] == nil else { throw .unreadable }
        guard header["alg"] == .text(algorithm.rawValue) else { throw .untrusted }
        let name: String?
        switch header["kid"] {
        case nil:
            // Without a name, there must be only one key.
            guard keys.count + fetched.count == 1 else { throw .untrusted }
            name = nil
        case .text(let id): name = id
        default: throw .untrusted
        }
        for (index, key) in keys.enumerated() where name == nil || key.id == name {
            if key.material.signed(message, signature) { return index }
        }
        var areAwaited = false
        for (index, set) in fetched.enumerated() {
            switch set.find(name) {
            case .key(let key):
                if key.verifies(message, signature) { return keys.count + index }
            case .awaited: areAwaited = true
            case .unknown: continue
            }
        }
        throw areAwaited ? .keysAwaited : .untrusted
    }

    private func check(
        _ claims: TokenObject,
        _ index: Int,
        _ now: WallTime
    ) throws(TokenProblem) -> VerifiedToken {
        let (now, leeway) = (Double(now.seconds), Double(leeway.components.seconds))
        guard let end = try time("exp", claims) else { throw .unfit }
        guard end + leeway > now else { throw .expired }
        for start in ["nbf", "iat"] {
            if let time = try time(start, claims), time > now + leeway { throw .unfit }
        }
        guard isForUs(claims["aud"]), issuer.map({ claims["iss"] == .text($0) }) ?? true else {
            throw .unfit
        }
        return VerifiedToken(
            key: index,
            end: Int64(end + leeway),
            destinations: try destinations(claims),
            subject: subject(claims)
        )
    }

    /// Cuts a long subject between two characters, because every log may carry it.
    private func subject(_ claims: TokenObject) -> String? {
        guard case .text(let text) = claims["sub"], !text.isEmpty else { return nil }
        return text.prefix(bytes: VerifiedToken.subjectBytesMax)
    }

    private func time(_ name: String, _ claims: TokenObject) throws(TokenProblem) -> Double? {
        guard let value = claims[name] else { return nil }
        // A time after the year 9999 is invalid and would overflow elsewhere.
        guard case .number(let seconds) = value, (0...253_402_300_799).contains(seconds) else {
            throw .unfit
        }
        return seconds
    }

    private func isForUs(_ audience: TokenObject.Value?) -> Bool {
        switch audience {
        case nil: audiences.isEmpty
        case .text(let name): audiences.contains(name)
        case .texts(let names): names.contains { audiences.contains($0) }
        default: false
        }
    }

    private func destinations(_ claims: TokenObject) throws(TokenProblem) -> Set<String>? {
        guard let destinationsClaim else { return nil }
        switch claims[destinationsClaim] {
        // Scopes are separated by spaces (RFC 8693 section 4.2).
        case .text(let names): return Set(names.split(separator: " ").map(String.init))
        case .texts(let names): return Set(names)
        default: throw .unfit
        }
    }
}

/// The members of a JSON object in a token. A repeated member makes it invalid, because two readers
/// could read it differently.
struct TokenObject {
    enum Value: Equatable {
        case text(String)
        case number(Double)
        case texts([String])
        /// A kind that no rule uses.
        case other
    }

    private static let depthMax = 8

    private var members: [String: Value] = [:]

    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes, depthMax: Self.depthMax),
            !Self.hasRepeatedName(json), case .object(let members) = json
        else { return nil }
        for member in members { self.members[member.name] = Value(member.value) }
    }

    subscript(_ name: String) -> Value? { members[name] }

    private static func hasRepeatedName(_ json: JSONValue) -> Bool {
        switch json {
        case .null, .bool, .number, .string: false
        case .array(let values): values.contains(where: hasRepeatedName)
        case .object(let members):
            Set(members.map(\.name)).count < members.count
                || members.contains { hasRepeatedName($0.value) }
        }
    }
}

extension TokenObject.Value {
    fileprivate init(_ json: JSONValue) {
        switch json {
        case .string(let text): self = .text(text)
        case .number(let number): self = .number(number)
        case .array(let values):
            let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            self = texts.count == values.count ? .texts(texts) : .other
        case .null, .bool, .object: self = .other
        }
    }
}

/// The signature algorithm of tokens (RFC 7518 section 3.1). The operator chooses it; a token's own
/// `alg` must match.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// Signed with a secret that both sides share.
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"

    package var hasSecret: Bool { self == .hs256 }
}

/// A key with which an issuer signs tokens.
package struct TokenKey: Sendable, Equatable {
    package enum Material: Sendable, Equatable {
        case secret(Secret)
        case publicKey(PublicKey)
    }

    /// RFC 7518 section 3.2: at least as long as the digest.
    package static let secretBytes = 32...256

    /// The name of the key in a token's `kid`.
    package let id: String
    package let material: Material

    package init(id: String, _ material: Material) {
        self.id = id
        self.material = material
    }

}

extension TokenKey.Material {
    func signed(_ message: ArraySlice<UInt8>, _ signature: [UInt8]) -> Bool {
        switch self {
        case .secret(let secret):
            let right = secret.withBytes { Digest.hmacSHA256(key: $0, Array(message)) }
            return Digest.areEqual(right, signature)
        case .publicKey(let key): return key.verifies(message, signature)
        }
    }
}

/// Why a token is refused.
package enum TokenProblem: Error, Equatable {
    /// Not in the compact form, or ambiguous to read.
    case unreadable
    /// Another algorithm, an unknown key, or an invalid signature.
    case untrusted
    case expired
    /// The issuer's keys, or the key that the token names, are not fetched yet.
    case keysAwaited
    /// Not yet valid, for another audience, from another issuer, or without a required claim.
    case unfit
}

/// The content of a verified token.
package struct VerifiedToken: Sendable, Equatable {
    /// The index of its key in the rules, followed by the issuers whose keys are fetched.
    package let key: Int
    /// The second at which the token expires.
    package let end: Int64
    /// The destinations it allows; nil if it names none.
    package let destinations: Set<String>?
    /// The subject (`sub`), at most `subjectBytesMax` bytes; nil if it has none.
    package let subject: String?

    package static let subjectBytesMax = 256
}

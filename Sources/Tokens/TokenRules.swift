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

    private func object(_ part: ArraySlice<UInt8>) -> JSONValue? {
        base64Decoded(part, .url).flatMap { JSONValue(tokenPart: $0) }
    }

    /// The index of the key that signed the token. Issuers name their keys independently, so every
    /// key of that name is tried.
    private func signer(
        of message: ArraySlice<UInt8>,
        _ signature: [UInt8],
        _ header: JSONValue,
        _ fetched: [FetchedTokenKeys]
    ) throws(TokenProblem) -> Int {
        // RFC 7515 section 4.1.11: the listed extensions must be understood, and none is.
        guard header["crit"] == nil else { throw .unreadable }
        guard header["alg"]?.text == algorithm.rawValue else { throw .untrusted }
        let name: String?
        switch header["kid"] {
        case nil:
            // Without a name, there must be only one key.
            guard keys.count + fetched.count == 1 else { throw .untrusted }
            name = nil
        case .string(let id): name = id
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
        _ claims: JSONValue,
        _ index: Int,
        _ now: WallTime
    ) throws(TokenProblem) -> VerifiedToken {
        let (now, leeway) = (Double(now.seconds), Double(leeway.components.seconds))
        guard let end = try time("exp", claims) else { throw .unfit }
        guard end + leeway > now else { throw .expired }
        for start in ["nbf", "iat"] {
            if let time = try time(start, claims), time > now + leeway { throw .unfit }
        }
        guard isForUs(claims["aud"]), issuer.map({ claims["iss"]?.text == $0 }) ?? true else {
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
    private func subject(_ claims: JSONValue) -> String? {
        guard let text = claims["sub"]?.text, !text.isEmpty else { return nil }
        return text.prefix(bytes: VerifiedToken.subjectBytesMax)
    }

    private func time(_ name: String, _ claims: JSONValue) throws(TokenProblem) -> Double? {
        guard let value = claims[name] else { return nil }
        // A time after the year 9999 is invalid and would overflow elsewhere.
        guard case .number(let seconds) = value, (0...253_402_300_799).contains(seconds) else {
            throw .unfit
        }
        return seconds
    }

    private func isForUs(_ audience: JSONValue?) -> Bool {
        guard let audience else { return audiences.isEmpty }
        let names = audience.text.map { [$0] } ?? audience.texts ?? []
        return names.contains { audiences.contains($0) }
    }

    private func destinations(_ claims: JSONValue) throws(TokenProblem) -> Set<String>? {
        guard let destinationsClaim else { return nil }
        let claim = claims[destinationsClaim]
        // Scopes are separated by spaces (RFC 8693 section 4.2).
        if let names = claim?.text { return Set(names.split(separator: " ").map(String.init)) }
        guard let names = claim?.texts else { throw .unfit }
        return Set(names)
    }
}

extension JSONValue {
    /// The object in a part of a token. A repeated member makes it invalid, because two readers
    /// could read it differently.
    fileprivate init?(tokenPart bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes, depthMax: 8), !json.hasRepeatedName,
            case .object = json
        else { return nil }
        self = json
    }

    private var hasRepeatedName: Bool {
        switch self {
        case .null, .bool, .number, .string: false
        case .array(let values): values.contains(where: \.hasRepeatedName)
        case .object(let members):
            Set(members.map(\.name)).count < members.count
                || members.contains { $0.value.hasRepeatedName }
        }
    }

    /// The texts of an array of nothing else.
    fileprivate var texts: [String]? {
        guard let elements else { return nil }
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? texts : nil
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

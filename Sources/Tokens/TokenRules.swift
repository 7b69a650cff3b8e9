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

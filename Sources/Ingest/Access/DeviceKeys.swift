import Configuration
import Crypto
import HTTP
import Net
import SLS
import System
import Tokens

/// The known senders, and how a request proves that it comes from one. Without keys every device
/// may send. An object, as `DeviceAccess`.
final class DeviceKeys: Sendable {
    /// In the order of the configuration; the senders of tokens come last.
    let senders: [DeviceSender]
    /// nil: tokens are not accepted.
    let tokens: TokenMemory?
    private let keys: [DeviceKey]
    /// Keyed by a salted HMAC of the key, so lookup timing reveals nothing about the key.
    private let marks: [[UInt8]: Int]
    private let salt: [UInt8]
    /// By the AccessKey id, which is not secret.
    private let accessKeys: [[UInt8]: Int]
    /// Has captures mask the ids all the same.
    private let knownIDs: [KnownSecrets.Entry]
    private let certificates: CertificateRules
    private let names: [[UInt8]: Int]
    private let signed: SignedRequests

    /// The settings of `x-sluice-signature`, and the used nonces.
    private struct SignedRequests: Sendable {
        let window: Duration
        let share: FairShare
        let nonces: NonceMemory
    }

    /// Keys keep their counters and budgets from the keys of the same name in `before`.
    init(
        _ settings: DeviceSettings,
        after before: DeviceKeys? = nil,
        bodyBytesMax: Int,
        nonces: NonceMemory,
        fetched: [FetchedTokenKeys] = []
    ) {
        let known = Dictionary(
            (before?.senders ?? []).map { ($0.name, $0.counter) },
            uniquingKeysWith: { first, _ in first }
        )
        senders = settings.senders.map { name, rules in
            DeviceSender(name, rules, known[name] ?? KeyCounter(), bodyBytesMax: bodyBytesMax)
        }
        let keys = settings.keys
        self.keys = keys
        let salt = randomBytes(32)
        self.salt = salt
        var (marks, accessKeys): ([[UInt8]: Int], [[UInt8]: Int]) = ([:], [:])
        var names: [[UInt8]: Int] = [:]
        for (index, key) in keys.enumerated() {
            if let mark = key.secret?.withBytes({ Self.mark(of: Array($0), salt) }) {
                marks[mark] = index
            }
            if let id = key.accessKeyID, key.accepts(.sls) { accessKeys[Array(id.utf8)] = index }
            names[Array(key.name.utf8)] = index
        }
        self.marks = marks
        knownIDs = keys.compactMap(\.accessKeyID).compactMap { id in
            Array(id.utf8).withUnsafeBytes { KnownSecrets.Entry($0) }
        }
        self.accessKeys = accessKeys
        self.names = names
        certificates = CertificateRules(keys)
        tokens = settings.tokens.map { TokenMemory($0.rules, fetched: fetched) }
        let holders = keys.count { $0.secret != nil && $0.accepts(.hmac) }
        signed = SignedRequests(
            window: settings.hmac.window,
            share: FairShare(max: settings.hmac.noncesMax, holders: holders),
            nonces: nonces
        )
    }

    var isOpen: Bool { senders.isEmpty }

    /// The sender of a request; nil when every device may send. A key or signature in the request
    /// counts first. A request without either is known by the names in its client certificate.
    func proven(_ head: RequestHead) throws(AccessProblem) -> ProvenSender? {
        guard !isOpen else { return nil }
        if let signature = head.fieldRange("x-sluice-signature") {
            return try proven(head, signature: head.bytes[signature])
        }
        if let key = head.keyInFields(isKnown: isKnown) {
            return try proven(showing: key, at: head.arrival)
        }
        let claim = accessKeys.isEmpty ? nil : head.accessKeyClaim
        if let claim, let proven = try proven(head, claim) { return proven }
        // SDKs that choose a shard have a `key` in the query, too.
        let key = head.keyInQuery
        if let key, isKnown(key) {
            return try proven(showing: key, at: head.arrival)
        }
        if let index = certificates.index(of: head.peer.clientNames) {
            return ProvenSender(sender: senders[index])
        }
        throw claim != nil ? .unknownAccessKey : key != nil ? .unknownKey : .missingKey
    }

    private func proven(
        showing key: [UInt8],
        at now: WallTime
    ) throws(AccessProblem) -> ProvenSender {
        guard let index = index(of: key) else {
            guard let tokens, isToken(key) else { throw .unknownKey }
            return try proven(token: key, tokens, at: now)
        }
        guard keys[index].accepts(.shown) else { throw .unacceptedWay }
        return ProvenSender(sender: senders[index])
    }

    private func isKnown(_ key: [UInt8]) -> Bool { index(of: key) != nil || isToken(key) }

    /// True for text with the form of a token. A key may have dots too, so callers look for a key
    /// first.
    private func isToken(_ key: [UInt8]) -> Bool {
        tokens != nil && key.count { $0 == UInt8(ascii: ".") } == 2
    }

    private func proven(
        token: [UInt8],
        _ tokens: TokenMemory,
        at now: WallTime
    ) throws(AccessProblem) -> ProvenSender {
        do throws(TokenProblem) {
            let verified = try tokens.verify(token[...], at: now)
            let sender = senders[keys.count + verified.key]
            return ProvenSender(
                sender: sender.limited(to: verified.destinations),
                subject: verified.subject
            )
        } catch {
            throw AccessProblem(error)
        }
    }

    /// nil when the request is signed with a key that does not belong to this gateway.
    private func proven(
        _ head: RequestHead,
        _ claim: AccessKeyClaim
    ) throws(AccessProblem) -> ProvenSender? {
        guard let index = accessKeys[claim.id], let secret = keys[index].secret else { return nil }
        let body = try SLSSignatureCheck(head: head, claim: claim).pass(secret)
        return ProvenSender(sender: senders[index], body: body)
    }

    private func proven(
        _ head: RequestHead,
        signature: ArraySlice<UInt8>
    ) throws(AccessProblem) -> ProvenSender {
        guard let signature = RequestSignature(signature) else { throw .unreadableSignature }
        guard let index = names[signature.name], let secret = keys[index].secret else {
            throw .unknownKey
        }
        guard keys[index].accepts(.hmac) else { throw .unacceptedWay }
        try signature.check(head, secret, window: signed.window)
        let nonce = UnusedNonce(signature, window: signed.window, signed.share, signed.nonces)
        try nonce.check(now: head.arrival)
        return ProvenSender(
            sender: senders[index],
            body: .sha256(signature.bodyDigest),
            nonce: nonce
        )
    }

    /// The index of the key in `keys`; nil when it is unknown.
    private func index(of key: [UInt8]) -> Int? {
        guard DeviceKey.secretBytes.contains(key.count) else { return nil }
        return marks[Self.mark(of: key, salt)]
    }

    private static func mark(of key: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        Digest.hmacSHA256(key: salt, key)
    }
}

/// Finds a sender by the names in its client certificate. An exact name takes precedence over
/// patterns, and an earlier pattern in the configuration over a later one.
private struct CertificateRules: Sendable {
    private var names: [[UInt8]: Int] = [:]
    private var patterns: [(pattern: CertificatePattern, index: Int)] = []

    init(_ keys: [DeviceKey]) {
        for (index, key) in keys.enumerated() {
            for pattern in key.certificates {
                if let name = pattern.only {
                    names[name] = names[name] ?? index
                } else {
                    patterns.append((pattern, index))
                }
            }
        }
    }

    /// The index in the configuration's list.
    func index(of names: [String]) -> Int? {
        guard !names.isEmpty, !(self.names.isEmpty && patterns.isEmpty) else { return nil }
        let names = names.map(comparableName)
        if let index = names.compactMap({ self.names[$0] }).min() { return index }
        return patterns.first { entry in names.contains { entry.pattern.covers($0) } }?.index
    }
}

extension RequestHead {
    /// The query parameter of a key, for beacons and images, which cannot have header fields of
    /// their own.
    static let keyParameter: StaticString = "key"
    /// Splunk's name of the parameter.
    private static let splunkParameter: StaticString = "token"

    /// The key in a header field. Signed requests of SDKs may have one beside the signature.
    func keyInFields(isKnown: ([UInt8]) -> Bool) -> [UInt8]? {
        if let own = fieldRange("x-sluice-key") { return Array(bytes[own]) }
        return fieldRange("authorization").flatMap { key(in: bytes[$0], isKnown) }
    }

    var accessKeyClaim: AccessKeyClaim? {
        fieldRange("authorization").flatMap { AccessKeyClaim(bytes[$0]) }
    }

    /// RFC 9110 section 11.4: a scheme in any case, and its credentials.
    private func key(
        in authorization: ArraySlice<UInt8>,
        _ isKnown: ([UInt8]) -> Bool
    ) -> [UInt8]? {
        guard let space = authorization.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let rest = authorization[space...].drop { $0 == UInt8(ascii: " ") }
        switch String(decoding: authorization[..<space], as: UTF8.self).lowercased() {
        case "bearer", "splunk": return Array(rest)
        case "basic": return basicPassword(rest)
        // Elasticsearch's: an id and a secret, or the key as it is in the configuration. One in
        // four keys of hexadecimal digits can be read as an id and a secret too.
        case "apikey":
            let whole = Array(rest)
            guard !whole.isEmpty, !isKnown(whole) else { return whole.isEmpty ? nil : whole }
            return basicPassword(rest) ?? whole
        default: return nil
        }
    }

    /// Outside of Splunk's paths, `token` may be a field of a log.
    var keyInQuery: [UInt8]? {
        guard let query else { return nil }
        let isSplunk = "/services/collector".utf8.elementsEqual(bytes[path].prefix(19))
        return key(called: Self.keyParameter, in: query)
            ?? (isSplunk ? key(called: Self.splunkParameter, in: query) : nil)
    }

    /// The first value of this name. Keys have no spaces, so a plus is a plus.
    private func key(called name: StaticString, in query: Range<Int>) -> [UInt8]? {
        for pair in bytes[query].split(separator: UInt8(ascii: "&")) {
            let start = pair.startIndex + name.utf8CodeUnitCount
            guard start < pair.endIndex, pair[start] == UInt8(ascii: "="),
                name.withUTF8Buffer({ pair.starts(with: $0) })
            else { continue }
            return percentDecodedText(pair[(start + 1)...]).map { Array($0.utf8) } ?? []
        }
        return nil
    }
}

/// The text after the colon (RFC 7617 section 2); nil when there is none.
private func basicPassword(_ credentials: ArraySlice<UInt8>) -> [UInt8]? {
    guard let text = base64Decoded(credentials, .standard),
        let colon = text.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    return Array(text[(colon + 1)...])
}

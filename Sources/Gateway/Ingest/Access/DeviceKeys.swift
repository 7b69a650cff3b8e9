import HTTP
import SLS
import System

/// All senders that are known. With none of them every device may send.
struct DeviceKeys: Sendable {
    /// In the order of the configuration.
    let senders: [DeviceSender]
    private let keys: [DeviceKey]
    /// By the mark of the key. How long a look here takes tells something of a mark at most, and nobody outside can
    /// know the mark of a guess: it hangs on what is drawn anew for each table.
    private let places: [[UInt8]: Int]
    private let salt: [UInt8]
    /// By the AccessKey id, which is no secret.
    private let accessKeys: [[UInt8]: Int]
    private let certificates: CertificateRules
    private let names: [[UInt8]: Int]
    private let hmac: DeviceSettings.HMAC
    private let nonces: NonceMemory

    /// Keys go on counting, and their budgets go on, where those of the same name `before` were.
    init(
        _ settings: DeviceSettings,
        after before: DeviceKeys? = nil,
        bodyBytesMax: Int,
        nonces: NonceMemory
    ) {
        let keys = settings.keys
        let known = Dictionary(
            (before?.senders ?? []).map { ($0.name, $0.counter) },
            uniquingKeysWith: { first, _ in first }
        )
        self.keys = keys
        senders = keys.map { key in
            DeviceSender(
                key.name,
                key.rules,
                known[key.name] ?? KeyCounter(),
                bodyBytesMax: bodyBytesMax
            )
        }
        let salt = randomBytes(32)
        self.salt = salt
        var (places, accessKeys): ([[UInt8]: Int], [[UInt8]: Int]) = ([:], [:])
        for (place, key) in keys.enumerated() {
            if let mark = key.secret?.withBytes({ Self.mark(of: Array($0), salt) }) {
                places[mark] = place
            }
            if let id = key.accessKeyID, key.accepts(.sls) { accessKeys[Array(id.utf8)] = place }
        }
        self.places = places
        self.accessKeys = accessKeys
        names = Dictionary(
            keys.enumerated().map { (Array($1.name.utf8), $0) },
            uniquingKeysWith: { first, _ in first }
        )
        hmac = settings.hmac
        self.nonces = nonces
        certificates = CertificateRules(keys)
    }

    var isOpen: Bool { senders.isEmpty }

    /// Who sends this; nil where everybody may. What the client shows first counts, and where it shows nothing, the
    /// names in its certificate.
    func proven(_ head: RequestHead) throws(AccessProblem) -> ProvenSender? {
        guard !isOpen else { return nil }
        if let signature = head.fieldRange("x-sluice-signature") {
            return try proven(head, signature: head.bytes[signature])
        }
        if let key = head.keyInFields { return try proven(showing: key) }
        let claim = accessKeys.isEmpty ? nil : head.accessKeyClaim
        if let claim, let proven = try proven(head, claim) { return proven }
        // What else is called key in the query: the place of a shard, where SDKs choose one.
        let key = head.keyInQuery
        if let key, place(of: key) != nil { return try proven(showing: key) }
        if let place = certificates.place(of: head.peer.clientNames) {
            return ProvenSender(sender: senders[place])
        }
        throw claim != nil ? .unknownAccessKey : key != nil ? .unknownKey : .missingKey
    }

    private func proven(showing key: [UInt8]) throws(AccessProblem) -> ProvenSender {
        guard let place = place(of: key) else { throw .unknownKey }
        guard keys[place].accepts(.shown) else { throw .unacceptedWay }
        return ProvenSender(sender: senders[place])
    }

    /// Nil when it is signed with a key of another place.
    private func proven(
        _ head: RequestHead,
        _ claim: AccessKeyClaim
    ) throws(AccessProblem) -> ProvenSender? {
        guard let place = accessKeys[claim.id], let secret = keys[place].secret else { return nil }
        let body = try SLSSignatureCheck(head: head, claim: claim).pass(secret)
        return ProvenSender(sender: senders[place], body: body)
    }

    private func proven(
        _ head: RequestHead,
        signature: ArraySlice<UInt8>
    ) throws(AccessProblem) -> ProvenSender {
        guard let signature = RequestSignature(signature) else { throw .unreadableSignature }
        guard let place = names[signature.name], let secret = keys[place].secret else {
            throw .unknownKey
        }
        guard keys[place].accepts(.hmac) else { throw .unacceptedWay }
        try signature.check(head, secret, window: hmac.window)
        let nonce = OwnNonce(signature, hmac, nonces)
        guard !nonce.isUsed else { throw .replayed }
        return ProvenSender(
            sender: senders[place],
            body: .sha256(signature.bodyDigest),
            nonce: nonce
        )
    }

    private func place(of key: [UInt8]) -> Int? {
        guard DeviceKey.secretBytes.contains(key.count) else { return nil }
        return places[Self.mark(of: key, salt)]
    }

    private static func mark(of key: [UInt8], _ salt: [UInt8]) -> [UInt8] {
        Digest.hmacSHA256(key: salt, key)
    }
}

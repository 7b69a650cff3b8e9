import Configuration
import HTTP
import SLS
import System
import Tokens

extension DeviceKeys {
    /// Who sends this; nil where everybody may. What the client shows first counts, and where it shows nothing, the
    /// names in its certificate.
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
        // What else is called key in the query: the place of a shard, where SDKs choose one.
        let key = head.keyInQuery
        if let key, isKnown(key) {
            return try proven(showing: key, at: head.arrival)
        }
        if let place = certificates.place(of: head.peer.clientNames) {
            return ProvenSender(sender: senders[place])
        }
        throw claim != nil ? .unknownAccessKey : key != nil ? .unknownKey : .missingKey
    }

    private func proven(
        showing key: [UInt8],
        at now: WallTime
    ) throws(AccessProblem) -> ProvenSender {
        guard let place = place(of: key) else {
            guard let tokens, isToken(key) else { throw .unknownKey }
            return try proven(token: key, tokens, at: now)
        }
        guard keys[place].accepts(.shown) else { throw .unacceptedWay }
        return ProvenSender(sender: senders[place])
    }

    private func isKnown(_ key: [UInt8]) -> Bool { place(of: key) != nil || isToken(key) }

    /// Whether it looks like one, where they are taken. A key may have dots, too, and is looked for before.
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
        let nonce = OwnNonce(
            signature,
            window: hmac.window,
            FairShare(max: hmac.noncesMax, holders: hmacKeyCount),
            nonces
        )
        try nonce.check(now: head.arrival)
        return ProvenSender(
            sender: senders[place],
            body: .sha256(signature.bodyDigest),
            nonce: nonce
        )
    }
}

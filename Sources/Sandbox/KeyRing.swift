import Crypto
import JSON
import SLS
import System

/// The AccessKeys and STS triples that the sandbox accepts.
struct KeyRing: Sendable {
    struct Key: Sendable {
        let credential: Credential
        /// The time after which the security token is refused.
        let expiry: WallTime?
    }

    private(set) var keys: [String: Key] = [:]
    let capacity: Int

    init(_ credentials: [Credential], capacity: Int) {
        self.capacity = capacity
        for credential in credentials {
            keys[credential.accessKeyID] = Key(credential: credential, expiry: nil)
        }
    }

    /// Adds a key, or replaces the one with this id. Returns false when there is no room.
    mutating func set(_ credential: Credential, expiry: WallTime?) -> Bool {
        guard keys.count < capacity || keys[credential.accessKeyID] != nil else { return false }
        keys[credential.accessKeyID] = Key(credential: credential, expiry: expiry)
        return true
    }

    mutating func remove(_ id: String) -> Bool { keys.removeValue(forKey: id) != nil }

    /// The key with this id, if it may be used now with this security token.
    func key(_ id: String, token: String?, at time: WallTime) throws(SLSRefusal) -> Credential {
        guard let key = keys[id] else { throw .unauthorized("AccessKeyId not found: \(id)") }
        switch (key.credential.securityToken?.revealed, token) {
        case (nil, nil): break
        case (nil, .some):
            throw .unauthorized("The security token you provided is invalid: \(id) has none.")
        case (.some, nil):
            throw .unauthorized("AccessKeyId not found: \(id) needs x-acs-security-token.")
        case (.some(let right), .some(let given)):
            guard Digest.areEqual(Array(right.utf8), Array(given.utf8)) else {
                throw .unauthorized("The security token you provided is invalid.")
            }
        }
        if let expiry = key.expiry, expiry <= time {
            throw .unauthorized("The security token you provided has expired")
        }
        return key.credential
    }
}

extension Sandbox {
    func listKeys() -> Answer {
        let keys = state.withLock { $0.keys.keys.values.map { $0 } }
            .sorted { $0.credential.accessKeyID < $1.credential.accessKeyID }
        return .json { json in
            json.objects("keys", keys) { json, key in
                json.member("access_key_id", key.credential.accessKeyID)
                json.member("has_security_token", key.credential.securityToken != nil)
                if let expiry = key.expiry { json.member("expires", expiry.rfc3339) }
            }
        }
    }

    func setKey(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(request.body)
        let id = try fields.text("access_key_id")
        let secret = try fields.text("access_key_secret", bytesMax: 4096)
        let token = try fields.text("security_token", bytesMax: 8192)
        let lifetime = try fields.integer("expires_in_s", in: -86_400...315_360_000)
        try fields.refuseUnknown()
        guard let id, let secret else {
            throw .badParameter("Give access_key_id and access_key_secret.")
        }
        guard id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x3A && $0 != 0x2F }) else {
            throw .badParameter("access_key_id has characters that cannot be sent.")
        }
        let credential = Credential(
            accessKeyID: id,
            secret: Secret(secret),
            securityToken: token.map(Secret.init)
        )
        let now = configuration.clock()
        let expiry = lifetime.map { WallTime(seconds: now.seconds + Int64($0)) }
        guard state.withLock({ $0.keys.set(credential, expiry: expiry) }) else {
            throw .badParameter("\(configuration.capacity.keysMax) keys exist: remove some first.")
        }
        return listKeys()
    }

    func removeKey(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        guard let id = request.parameter("access_key_id") else {
            throw .badParameter("Say which: ?access_key_id=…")
        }
        guard state.withLock({ $0.keys.remove(id) }) else {
            throw .notFound("ParameterInvalid", "There is no key \(id).")
        }
        return listKeys()
    }
}

import Crypto
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

    /// Returns false when there is no such key.
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

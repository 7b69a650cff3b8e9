import Crypto
import JSON
import SLS
import System

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

    func setKey(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(body)
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
            throw SLSRefusal(404, "ParameterInvalid", "There is no key \(id).")
        }
        return listKeys()
    }
}

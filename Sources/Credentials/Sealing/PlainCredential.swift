import Crypto
import SLS
import System

/// The unsealed content: four texts with their lengths, then three times in seconds.
enum PlainCredential {
    /// Stands for a missing time.
    private static let never = Int64.min

    static func bytes(of pushed: PushedCredential) -> [UInt8] {
        let supplied = pushed.supplied
        let texts = [
            Secret(supplied.credential.accessKeyID), supplied.credential.secret,
            supplied.credential.securityToken ?? Secret(""), Secret(supplied.origin),
        ]
        let times = [
            supplied.obtainedAt.seconds, supplied.expiration?.seconds ?? never,
            pushed.activation?.seconds ?? never,
        ]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(texts.reduce(0) { $0 + $1.byteCount + 4 } + times.count * 8)
        for text in texts {
            append(UInt32(text.byteCount), to: &bytes)
            text.withBytes { bytes.append(contentsOf: $0) }
        }
        for time in times { append(UInt64(bitPattern: time), to: &bytes) }
        return bytes
    }

    static func read(_ bytes: [UInt8]) -> PushedCredential? {
        var rest = bytes[...]
        func number(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        func text() -> Secret? {
            guard let count = number(4), rest.count >= Int(count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count)).withUnsafeBytes { Secret(copying: $0) }
        }
        func time() -> WallTime?? {
            guard let seconds = number(8).map({ Int64(bitPattern: $0) }) else { return nil }
            return .some(seconds == never ? nil : WallTime(seconds: seconds))
        }
        guard let id = text(), let secret = text(), let token = text(), let origin = text(),
            case .some(.some(let obtainedAt)) = time(), let expiration = time(),
            let activation = time(), rest.isEmpty
        else { return nil }
        let credential = Credential(
            accessKeyID: id.revealed,
            secret: secret,
            securityToken: token.byteCount == 0 ? nil : token
        )
        let supplied = SuppliedCredential(
            credential,
            expiration: expiration,
            origin: origin.revealed,
            obtainedAt: obtainedAt
        )
        return PushedCredential(supplied, activation: activation)
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

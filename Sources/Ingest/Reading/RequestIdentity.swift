import Crypto
import HTTP
import Logs
import SLS

/// Identifies a repeated request: 16 bytes that no other request has.
enum RequestIdentity {
    /// A name from the client. A name alone is not enough: two devices may number their requests
    /// alike, and the logs of one must not count as the other's.
    static func named(
        _ key: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target,
        outcome: String = ""
    ) -> [UInt8] {
        let parts = [target.destination, target.logstore, target.tag ?? "", key].map(\.utf8Bytes)
        let rest = outcome.isEmpty ? [] : [outcome.utf8Bytes]
        return digest("key", parts + [Digest.sha256(content)] + rest)
    }

    /// A packet of an SDK with its pack id. A retried packet is identical, unless it is older than
    /// ten minutes and its SDK rewrites the times. A pack id alone is not enough, since two devices
    /// may produce the same one.
    static func packet(
        _ packID: String,
        topic: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) -> [UInt8] {
        let parts = [target.destination, target.logstore, topic, packID].map(\.utf8Bytes)
        return digest("packet", parts + [Digest.sha256(content)])
    }

    /// A write that its client numbers within a shard, so that SLS stores it once.
    static func numbered(
        _ sequence: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) -> [UInt8] {
        digest("number", sequence, content, target)
    }

    /// A push of a tenant: each line has its time, so identical content came before.
    static func push(
        of tenant: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) -> [UInt8] {
        digest("push", tenant, content, target)
    }

    /// A bulk with refused parts: some clients send all of it again. The outcome belongs to the
    /// identity, since refused parts may be accepted the next time.
    static func bulk(
        _ outcome: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) -> [UInt8] {
        digest("bulk", outcome, content, target)
    }

    /// A document with an id from its client. With other content it is another log, since logs are
    /// written once.
    static func document(
        _ id: String,
        of index: String,
        content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) -> [UInt8] {
        let parts = [target.destination, target.logstore, index, id].map(\.utf8Bytes)
        return digest("document", parts + [Digest.sha256(content)])
    }

    /// Distinguishes content of one kind at one logstore from equal content elsewhere.
    private static func digest(
        _ kind: String,
        _ mark: String,
        _ content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) -> [UInt8] {
        let parts = [target.destination, target.logstore, mark].map(\.utf8Bytes)
        return digest(kind, parts + [Digest.sha256(content)])
    }

    /// Each part follows its length, so that different lists never look alike.
    private static func digest(_ kind: String, _ parts: [[UInt8]]) -> [UInt8] {
        var text = kind.utf8Bytes
        for part in parts {
            withUnsafeBytes(of: UInt32(part.count).littleEndian) { text.append(contentsOf: $0) }
            text += part
        }
        return Array(Digest.sha256(text).prefix(16))
    }
}

extension RequestHead {
    /// The value of `Idempotency-Key`, if there is one.
    var idempotencyKey: String? {
        get throws(Refusal) {
            guard let range = fieldRange("idempotency-key") else { return nil }
            guard (1...255).contains(range.count),
                bytes[range].allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw Refusal(
                    400,
                    "ParameterInvalid",
                    "Idempotency-Key has 1 to 255 visible ASCII characters"
                )
            }
            return String(decoding: bytes[range], as: UTF8.self)
        }
    }
}

extension String {
    fileprivate var utf8Bytes: [UInt8] { Array(utf8) }
}

import Crypto
import HTTP
import Logs
import SLS

/// How a repeated request is recognised: by 16 bytes that no other request has.
enum RequestIdentity: String {
    /// A name from the client. A name alone is not enough: two devices may number their requests
    /// alike, and the logs of one must not count as the other's.
    case named = "key"
    /// A packet of an SDK, by its topic and pack id. A retried packet is identical, unless it is
    /// older than ten minutes and its SDK rewrites the times. Two devices may produce one pack id.
    case packet
    /// A write that its client numbers within a shard, so that SLS stores it once.
    case numbered = "number"
    /// A push of a tenant: each line has its time, so identical content came before.
    case push
    /// A bulk with refused parts: some clients send all of it again. The outcome belongs to the
    /// identity, since refused parts may be accepted the next time.
    case bulk
    /// A document, by its index and the id from its client. With other content it is another log,
    /// since logs are written once.
    case document

    /// Tells the content from equal content of another kind, at another logstore or with other
    /// marks. `outcome` is that of the parts of a named request, when some were refused.
    func digest(
        _ marks: [String],
        _ content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target,
        outcome: String = ""
    ) -> [UInt8] {
        var parts = ([target.destination, target.logstore] + marks).map { Array($0.utf8) }
        parts.append(Digest.sha256(content))
        if !outcome.isEmpty { parts.append(Array(outcome.utf8)) }
        var text = Array(rawValue.utf8)
        // Each part follows its length, so that different lists never look alike.
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
                throw .badParameter("Idempotency-Key has 1 to 255 visible ASCII characters")
            }
            return String(decoding: bytes[range], as: UTF8.self)
        }
    }
}

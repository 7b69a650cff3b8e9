import HTTP
import System

/// The shard that a client wants: `?key=…`, and `&seqid=…` when the write is to be stored once.
///
/// The key is checked and not used. A packet holds the logs of many requests, so each key would
/// need a stream of its own, and with `exactly_once` a packet has its own key.
struct HashRoute {
    /// Distinguishes the request from others with the same content; nil when the client does not
    /// number them.
    private(set) var sequence: String?

    init(_ head: RequestHead) throws(Refusal) {
        guard let pairs = head.queryPairs else {
            throw Refusal(400, "ParameterInvalid", "the query has a % that is no escape")
        }
        guard let key = pairs.first(where: { $0.name == "key" })?.value else {
            throw Refusal(400, "MissingParameter", "/shards/route needs key, 32 hexadecimal digits")
        }
        guard key.utf8.count == 32, key.utf8.allSatisfy(\.isHexDigit) else {
            // Not its value: a device's own key has the same name.
            throw Refusal(400, "ParameterInvalid", "key is not 32 hexadecimal digits")
        }
        guard let number = pairs.first(where: { $0.name == "seqid" })?.value else { return }
        guard let value = UInt64(number) else {
            throw Refusal(400, "ParameterInvalid", "seqid is not a number")
        }
        sequence = "\(key.lowercased()) \(value)"
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

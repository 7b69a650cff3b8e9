package import Net
import System

/// The proxies in front of a server that may name their clients. Several servers may share it. A
/// reload replaces its rules for later connections.
package final class ProxyTrust: Sendable {
    package struct Rules: Sendable, Equatable {
        package var ranges: [AddressRange]
        /// Every connection comes through a proxy and begins with a PROXY header.
        package var speaksProxy: Bool

        package init(ranges: [AddressRange] = [], speaksProxy: Bool = false) {
            self.ranges = ranges
            self.speaksProxy = speaksProxy
        }

        package func trusts(_ address: IPAddress) -> Bool {
            ranges.contains { $0.contains(address) }
        }
    }

    private let current: Locked<Rules>

    package init(_ rules: Rules = Rules()) {
        current = Locked(rules)
    }

    package var rules: Rules { current.withLock { $0 } }

    package func replace(_ rules: Rules) {
        current.withLock { $0 = rules }
    }
}

/// The header in which a proxy names its client: HAProxy's PROXY protocol, versions 1 and 2.
struct ProxyHeader: Equatable {
    /// The header's size in bytes.
    let length: Int
    /// nil when the proxy speaks for itself, or the client has no known address.
    let client: Client?

    struct Client: Equatable {
        let address: IPAddress
        let port: UInt16
    }

    /// Version 1 is one line of at most this length, with its end (section 2.1).
    private static let lineBytesMax = 107
    /// A version 2 header fits into the smallest TCP segment (section 2.2): the addresses take 52
    /// bytes of it, and the rest is for the proxy's other facts.
    static let bytesMax = 536

    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// nil while the header is incomplete. Other bytes are refused at the first wrong byte.
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(ProxyHeaderError) -> ProxyHeader? {
        guard let first = bytes.first else { return nil }
        return first == signature[0] ? try binary(bytes) : try line(bytes)
    }

    // MARK: - Version 1

    private static func line(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ProxyHeaderError) -> ProxyHeader? {
        guard zip(bytes, "PROXY ".utf8).allSatisfy({ $0 == $1 }) else { throw .missing }
        let line = bytes.prefix(lineBytesMax)
        guard let end = line.firstIndex(of: UInt8(ascii: "\r")), end + 1 < line.count else {
            guard bytes.count < lineBytesMax else { throw .malformed("its line is too long") }
            return nil
        }
        guard line[end + 1] == UInt8(ascii: "\n") else {
            throw .malformed("its line does not end with CRLF")
        }
        let words = line[..<end].split(separator: .space, omittingEmptySubsequences: false)
        let length = end + 2
        // Section 2.1: the rest of the line is ignored.
        if words[1].elementsEqual("UNKNOWN".utf8) {
            return ProxyHeader(length: length, client: nil)
        }
        guard words.count == 6 else { throw .malformed("its line does not have six words") }
        let isV4 = words[1].elementsEqual("TCP4".utf8)
        guard isV4 || words[1].elementsEqual("TCP6".utf8) else {
            throw .malformed("its protocol is not TCP4, TCP6 or UNKNOWN")
        }
        guard let client = IPAddress(words[2]), IPAddress(words[3]) != nil,
            words[2].contains(.colon) != isV4, words[3].contains(.colon) != isV4
        else { throw .malformed("its addresses do not match its protocol") }
        guard let port = portNumber(words[4]), portNumber(words[5]) != nil else {
            throw .malformed("its ports are invalid")
        }
        return ProxyHeader(length: length, client: Client(address: client, port: port))
    }

    private static func portNumber(_ text: Slice<UnsafeRawBufferPointer>) -> UInt16? {
        guard (1...5).contains(text.count), text.allSatisfy(\.isDigit),
            text.count == 1 || text.first != UInt8(ascii: "0")
        else { return nil }
        return UInt16(exactly: text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }

    // MARK: - Version 2

    private static func binary(
        _ bytes: UnsafeRawBufferPointer
    ) throws(ProxyHeaderError) -> ProxyHeader? {
        guard zip(bytes, signature).allSatisfy({ $0 == $1 }) else { throw .missing }
        guard bytes.count > 12 else { return nil }
        guard bytes[12] >> 4 == 2, bytes[12] & 0x0F <= 1 else {
            throw .malformed("its version or command is unknown")
        }
        let isLocal = bytes[12] & 0x0F == 0
        guard bytes.count > 13 else { return nil }
        // Unspecified, TCP or a Unix stream socket; datagrams do not come over a connection.
        let family = bytes[13]
        guard isLocal || [0x00, 0x11, 0x21, 0x31].contains(family) else {
            throw .malformed("its address family is not one of a connection")
        }
        guard bytes.count >= 16 else { return nil }
        let length = 16 + Int(bytes.loadUnaligned(fromByteOffset: 14, as: UInt16.self).bigEndian)
        guard length <= bytesMax else { throw .malformed("it has more than \(bytesMax) bytes") }
        let addressBytes = isLocal ? 0 : [0x11: 12, 0x21: 36, 0x31: 216][family] ?? 0
        guard length >= 16 + addressBytes else { throw .malformed("its addresses are incomplete") }
        guard bytes.count >= length else { return nil }
        // Fields after the addresses are skipped.
        return ProxyHeader(length: length, client: isLocal ? nil : client(bytes, family))
    }

    private static func client(_ bytes: UnsafeRawBufferPointer, _ family: UInt8) -> Client? {
        func number<Number: FixedWidthInteger>(at offset: Int, _: Number.Type) -> Number {
            Number(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
        switch family {
        case 0x11:
            return Client(
                address: IPAddress(v4: number(at: 16, UInt32.self)),
                port: number(at: 24, UInt16.self)
            )
        case 0x21:
            return Client(
                address: IPAddress(v6: number(at: 16, UInt64.self), number(at: 24, UInt64.self)),
                port: number(at: 48, UInt16.self)
            )
        default: return nil
        }
    }
}

enum ProxyHeaderError: Error, Equatable {
    /// The connection begins with something else.
    case missing
    case malformed(String)

    var reason: String {
        switch self {
        case .missing: "the connection does not begin with a PROXY header"
        case .malformed(let reason): "the PROXY header cannot be read: \(reason)"
        }
    }
}

extension UInt8 {
    fileprivate static let colon = UInt8(ascii: ":")
}

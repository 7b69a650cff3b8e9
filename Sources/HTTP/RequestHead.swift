package import Net
package import System

/// The checked head of a request: method, target and fields, kept as the received bytes.
///
/// It costs three allocations a request and none for a field; names and values are ranges of
/// `bytes`. An object: it is passed on about eight times, and a copy of its parts would count four
/// references each time.
package final class RequestHead: Sendable {
    package enum Method: Sendable, Equatable {
        case get, head, post, put, patch, delete, options
        case other
    }

    package struct Field: Sendable {
        package let name: Range<Int>
        package let value: Range<Int>

        package init(name: Range<Int>, value: Range<Int>) {
            self.name = name
            self.value = value
        }
    }

    /// The head as received, from the method to the blank line.
    package let bytes: [UInt8]
    package let method: Method
    /// The path as received: percent-encoded, without the query.
    package let path: Range<Int>
    /// The text after the question mark; nil without one.
    package let query: Range<Int>?
    package let fields: [Field]
    /// 1 for HTTP/1.1 and later minor versions, 0 for HTTP/1.0.
    package let minorVersion: Int
    /// The connection's peer.
    package let peer: PeerAddress
    /// The time when the head was complete; the body may take minutes more.
    package let arrival: WallTime

    package init(
        bytes: [UInt8],
        method: Method,
        path: Range<Int>,
        query: Range<Int>?,
        fields: [Field],
        minorVersion: Int,
        peer: PeerAddress,
        arrival: WallTime = .now
    ) {
        self.bytes = bytes
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.minorVersion = minorVersion
        self.peer = peer
        self.arrival = arrival
    }
}

/// A connection's peer.
package struct PeerAddress: Hashable, Sendable {
    /// "192.0.2.1" or "2001:db8::1"; an IPv4 address on an IPv6 socket is written as IPv4.
    package let host: String
    /// The same address, for limits.
    package let address: IPAddress?
    package let port: UInt16
    /// True if the peer, as a proxy, may name its clients. A proxy that sends no client address
    /// with its PROXY header may not: it would only pass on what clients claim.
    package internal(set) var mayForward = true
    /// The verified names in the client's TLS certificate, each with its kind:
    /// "dns:phone-7.example.com"; see `ClientCertificate`.
    package internal(set) var clientNames: [String]

    package init(_ address: IPAddress, port: UInt16) {
        host = address.description
        self.address = address
        self.port = port
        clientNames = []
    }

    package init(host: String, port: UInt16, clientNames: [String] = []) {
        self.host = host
        address = IPAddress(host)
        self.port = port
        self.clientNames = clientNames
    }

    /// The first name, for display. Rules check all of them.
    package var clientName: String? { clientNames.first }
}

extension RequestHead {
    package var pathText: String { String(decoding: bytes[path], as: UTF8.self) }

    package var queryText: String? {
        query.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The value of the first field with this lower-case name, without spaces around it.
    package func field(_ name: StaticString) -> String? {
        fieldRange(name).map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The values of all fields with this lower-case name, joined to one list (RFC 9110 section
    /// 5.3); nil without any.
    package func list(_ name: StaticString) -> String? {
        let values = fieldRanges(name).map { String(decoding: bytes[$0], as: UTF8.self) }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The range in `bytes` of the first value with this name.
    package func fieldRange(_ name: StaticString) -> Range<Int>? {
        bytes.withUnsafeBufferPointer { bytes in
            fields.first { Self.isNamed(name, bytes[$0.name]) }?.value
        }
    }

    /// The ranges of all values with this name, in order.
    package func fieldRanges(_ name: StaticString) -> [Range<Int>] {
        bytes.withUnsafeBufferPointer { bytes in
            fields.filter { Self.isNamed(name, bytes[$0.name]) }.map(\.value)
        }
    }

    /// True if the first such field begins with the text in any case; the text is in lower case.
    package func field(_ name: StaticString, begins text: StaticString) -> Bool {
        guard let range = fieldRange(name) else { return false }
        return bytes.withUnsafeBufferPointer { Self.begins(text, $0[range]) }
    }

    /// The same for a text anywhere in the value.
    package func field(_ name: StaticString, contains text: StaticString) -> Bool {
        guard let range = fieldRange(name) else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            range.contains { Self.begins(text, bytes[$0..<range.upperBound]) }
        }
    }

    private static func isNamed(
        _ name: StaticString,
        _ given: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Bool {
        given.count == name.utf8CodeUnitCount && begins(name, given)
    }

    private static func begins(
        _ text: StaticString,
        _ given: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return given.count >= wanted.count
            && zip(given, wanted).allSatisfy { $0.lowercased == $1 }
    }

    /// The memory of the head and of what `admit` keeps about it: less than a kibibyte.
    var heldBytes: Int { bytes.count + fields.count * MemoryLayout<Field>.stride + 1024 }

    // MARK: - What the fields say of the body

    /// True if the request has a body, other than one of length 0.
    package var announcesBody: Bool {
        if fieldRange("transfer-encoding") != nil { return true }
        guard let length = fieldRange("content-length") else { return false }
        return bytes[length].contains { $0 != UInt8(ascii: "0") }
    }

    /// The body's size on the wire; nil if only its end shows it.
    package var declaredBodyBytes: Int? {
        guard fieldRange("transfer-encoding") == nil else { return nil }
        guard let length = fieldRange("content-length") else { return 0 }
        // The parser has checked that it is a number.
        return bytes[length].reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) }
    }

    // MARK: - The query

    /// The query's pairs, decoded; nil when the query is malformed.
    package var queryPairs: [(name: String, value: String)]? {
        guard let query, !query.isEmpty else { return [] }
        var pairs: [(name: String, value: String)] = []
        for part in bytes[query].split(separator: UInt8(ascii: "&")) {
            let sides = part.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard let name = percentDecodedText(sides[0]),
                let value = sides.count == 2 ? percentDecodedText(sides[1]) : ""
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }
}

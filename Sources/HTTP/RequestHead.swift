package import Net
package import System

/// The head of one request: method, target and fields, checked and kept as the bytes that came.
///
/// It costs two allocations a request and nothing per field; names and values are ranges of `bytes`.
package struct RequestHead: Sendable {
    package enum Method: Sendable, Equatable {
        case get, head, post, put, patch, delete, options
        case other
    }

    package struct Field: Sendable {
        package let name: Range<Int>
        package let value: Range<Int>
    }

    /// The head as it came, from the method to the blank line.
    package let bytes: [UInt8]
    package let method: Method
    /// The path as it came: still percent-encoded, without the query.
    package let path: Range<Int>
    /// What follows the question mark; nil when there is none.
    package let query: Range<Int>?
    package let fields: [Field]
    /// 1 for HTTP/1.1 and whatever comes after it, 0 for HTTP/1.0.
    package let minorVersion: Int
    /// The connection's other end.
    package let peer: PeerAddress
    /// When it was complete; its body may take minutes more.
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

/// A connection's other end.
package struct PeerAddress: Hashable, Sendable {
    /// "192.0.2.1" or "2001:db8::1"; a v4 address seen through a v6 socket is written as v4.
    package let host: String
    /// The same, for whoever counts by it.
    package let address: IPAddress?
    package let port: UInt16
    /// Whether what it says of others may be believed, if it is a proxy. One that passes on what clients say, and does
    /// not tell who they are, has nothing to say.
    package internal(set) var mayForward = true
    /// What the client's certificate says, where TLS asks for one, each with its kind:
    /// "dns:phone-7.example.com"; see `ClientCertificate`. The authority that signed it was checked.
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

    /// The first one, for whoever wants to say who this is. Rules look at all of them.
    package var clientName: String? { clientNames.first }
}

extension RequestHead {
    package var pathText: String { String(decoding: bytes[path], as: UTF8.self) }

    package var queryText: String? {
        query.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The value of the first field of this name (given in lower case), spaces around it removed.
    package func field(_ name: StaticString) -> String? {
        fieldRange(name).map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// The values of all fields of this name (given in lower case) as one list (RFC 9110 section 5.3); nil if there is
    /// none.
    package func list(_ name: StaticString) -> String? {
        let values = fieldRanges(name).map { String(decoding: bytes[$0], as: UTF8.self) }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Where the value of the first field of this name stands in `bytes`.
    package func fieldRange(_ name: StaticString) -> Range<Int>? {
        bytes.withUnsafeBufferPointer { bytes in
            fields.first { Self.isNamed(name, bytes[$0.name]) }?.value
        }
    }

    /// As above, of all fields of this name, in their order.
    package func fieldRanges(_ name: StaticString) -> [Range<Int>] {
        bytes.withUnsafeBufferPointer { bytes in
            fields.filter { Self.isNamed(name, bytes[$0.name]) }.map(\.value)
        }
    }

    private static func isNamed(
        _ name: StaticString,
        _ given: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Bool {
        let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        return given.count == wanted.count
            && zip(given, wanted).allSatisfy { came, asked in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(came)
                    ? came | 0x20 == asked : came == asked
            }
    }
}

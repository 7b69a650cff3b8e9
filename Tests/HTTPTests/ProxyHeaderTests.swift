import Net
import TestSupport
import Testing

@testable import HTTP

@Suite struct ProxyHeaderTests {
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// Of version 2.
    static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xFF)] + rest
    }

    static let v4: [UInt8] = [192, 0, 2, 7, 127, 0, 0, 1, 0x30, 0x39, 0x1F, 0x90]
    static let v6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [7]
        + Array(repeating: 0, count: 16) + [0x30, 0x39, 0x1F, 0x90]

    private static func client(_ text: String, _ port: UInt16) -> ProxyHeader.Client? {
        IPAddress(text).map { ProxyHeader.Client(address: $0, port: port) }
    }

    struct Good: Sendable {
        let bytes: [UInt8]
        let client: ProxyHeader.Client?

        init(_ text: String, _ client: ProxyHeader.Client?) {
            self.init(Array(text.utf8), client)
        }

        init(_ bytes: [UInt8], _ client: ProxyHeader.Client?) {
            self.bytes = bytes
            self.client = client
        }
    }

    static let good = [
        Good("PROXY TCP4 192.0.2.7 127.0.0.1 12345 8080\r\n", client("192.0.2.7", 12345)),
        Good(
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            client("255.255.255.255", 65535)
        ),
        Good("PROXY TCP6 2001:db8::7 ::1 0 1\r\n", client("2001:db8::7", 0)),
        Good("PROXY TCP6 ::ffff:192.0.2.7 ::1 5 1\r\n", client("192.0.2.7", 5)),
        Good("PROXY UNKNOWN\r\n", nil),
        Good(
            "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                + "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            nil
        ),
        Good(binary(0x21, 0x11, v4), client("192.0.2.7", 12345)),
        Good(binary(0x21, 0x11, v4 + [0x03, 0, 4, 1, 2, 3, 4]), client("192.0.2.7", 12345)),
        Good(binary(0x21, 0x21, v6), client("2001:db8::7", 12345)),
        Good(binary(0x21, 0x31, Array(repeating: 0, count: 216)), nil),
        Good(binary(0x21, 0x00, []), nil), Good(binary(0x20, 0x00, []), nil),
        Good(binary(0x20, 0x11, v4), nil), Good(binary(0x20, 0x12, [1]), nil),
        Good(binary(0x21, 0x11, v4 + Array(repeating: 1, count: 508)), client("192.0.2.7", 12345)),
    ]

    private func parse(_ bytes: [UInt8]) throws(ProxyHeaderError) -> ProxyHeader? {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(ProxyHeaderError) in try ProxyHeader.parse(bytes) }
        }
        return try result.get()
    }

    @Test("A complete header is parsed, and the bytes after it stay unread", arguments: good)
    func whole(header: Good) throws {
        for length in 0..<header.bytes.count {
            #expect(try parse(Array(header.bytes[..<length])) == nil, "\(length)")
        }
        let expected = ProxyHeader(length: header.bytes.count, client: header.client)
        #expect(try parse(header.bytes) == expected)
        #expect(try parse(header.bytes + Array("GET / HTTP/1.1\r\n".utf8)) == expected)
    }

    @Test(
        "Bytes that are not a PROXY header are refused at the first wrong byte",
        arguments: [
            "G", "PRI * HTTP/2.0\r\n", "PROXZ", "proxy ", "\u{16}\u{3}\u{1}", "\r\nX", "\0",
            "POST /logs/x HTTP/1.1\r\n",
        ]
    )
    func missing(text: String) {
        #expect(throws: ProxyHeaderError.missing) { try parse(Array(text.utf8)) }
    }

    @Test(
        "A line that is not exactly as it should be is refused",
        arguments: [
            "PROXY \r\n", "PROXY TCP4\r\n", "PROXY TCP5 1.2.3.4 1.2.3.4 1 1\r\n",
            "PROXY tcp4 1.2.3.4 1.2.3.4 1 1\r\n", "PROXY  TCP4 1.2.3.4 1.2.3.4 1 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 \r\n", "PROXY TCP4 1.2.3.4  1.2.3.4 1 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 01 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 -1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 99999999\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3 1 1\r\n", "PROXY TCP4 1.2.3.04 1.2.3.4 1 1\r\n",
            "PROXY TCP4 ::1 1.2.3.4 1 1\r\n", "PROXY TCP6 ::1 1.2.3.4 1 1\r\n",
            "PROXY TCP6 1.2.3.4 ::1 1 1\r\n", "PROXY TCP6 [::1] ::1 1 1\r\n",
            "PROXY TCP4 1.2.3.4\0 1.2.3.4 1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 1\rX",
            "PROXY UNKNOWNX\r\n", "PROXY UNKNOWN\r\r\n",
            "PROXY UNKNOWN " + String(repeating: "x", count: 93),
            "PROXY UNKNOWN " + String(repeating: "x", count: 92) + "\r\n",
        ]
    )
    func malformedLine(text: String) {
        let error = #expect(throws: ProxyHeaderError.self) { try parse(Array(text.utf8)) }
        #expect(error != .missing)
    }

    @Test(
        "A binary header that is not exactly as it should be is refused",
        arguments: [
            binary(0x11, 0x11, v4), binary(0x22, 0x11, v4), binary(0x31, 0x11, v4),
            binary(0x21, 0x12, v4), binary(0x21, 0x22, v6), binary(0x21, 0x41, v4),
            binary(0x21, 0x11, Array(v4.dropLast())), binary(0x21, 0x21, Array(v6.dropLast())),
            binary(0x21, 0x31, Array(repeating: 0, count: 215)), binary(0x21, 0x11, []),
            binary(0x21, 0x11, v4 + Array(repeating: 1, count: 509)),
            binary(0x20, 0x00, Array(repeating: 1, count: 521)),
        ]
    )
    func malformedBytes(bytes: [UInt8]) {
        let error = #expect(throws: ProxyHeaderError.self) { try parse(bytes) }
        #expect(error != .missing)
    }

    @Test("For any input, a header is at most as long as the input and the limit")
    func mutations() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<20_000 {
            let seed = Self.good.randomElement(using: &random)!
            let bytes = seed.bytes.mutated(using: &random)
            guard let header = try? parse(bytes) else { continue }
            #expect(header.length <= min(bytes.count, ProxyHeader.bytesMax))
        }
    }
}

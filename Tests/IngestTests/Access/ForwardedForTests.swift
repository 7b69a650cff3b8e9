import Net
import System
import Testing

@testable import HTTP
@testable import Ingest

@Suite struct ForwardedForTests {
    private static let proxies = ["10.0.0.0/8", "2001:db8:aaaa::/48"]

    private func head(
        _ peer: String,
        _ fields: [String],
        mayForward: Bool = true
    ) -> RequestHead {
        var peer = PeerAddress(host: peer, port: 1)
        peer.mayForward = mayForward
        var bytes = Array("POST /logs/x HTTP/1.1\r\n".utf8)
        var places: [RequestHead.Field] = []
        func add(_ name: String, _ value: String) {
            let start: Int = bytes.count
            let colon: Int = start + name.utf8.count
            bytes += Array("\(name): \(value)\r\n".utf8)
            let end: Int = bytes.count - 2
            places.append(RequestHead.Field(name: start..<colon, value: colon + 2..<end))
        }
        for value in fields {
            add("X-Forwarded-FOR", value)
            add("x-forwarded-fo", "203.0.113.99")
        }
        return RequestHead(
            bytes: bytes,
            method: .post,
            path: 5..<12,
            query: nil,
            fields: places,
            minorVersion: 1,
            peer: peer
        )
    }

    @Test("A proxy that passes on what clients say, and does not tell who they are, is the client")
    func passedOn() throws {
        let proxies = try Self.proxies.map(AddressRange.init(parsing:))
        let head = head("10.0.0.1", ["203.0.113.5"], mayForward: false)
        #expect(head.clientAddress(behind: proxies) == IPAddress("10.0.0.1"))
    }

    @Test(
        "The client is the last address that is no trusted proxy's",
        arguments: [
            // Nobody is asked who is no proxy.
            ("192.0.2.1", ["203.0.113.5"], "192.0.2.1"), ("192.0.2.1", [], "192.0.2.1"),
            ("10.0.0.1", [], "10.0.0.1"), ("10.0.0.1", ["203.0.113.5"], "203.0.113.5"),
            ("::ffff:10.0.0.1", ["203.0.113.5"], "203.0.113.5"),
            ("2001:db8:aaaa::1", ["2001:db8:bbbb::5"], "2001:db8:bbbb::5"),
            // What a client says itself stands before what the proxy adds.
            ("10.0.0.1", ["1.1.1.1, 203.0.113.5"], "203.0.113.5"),
            ("10.0.0.1", ["10.0.0.9, 203.0.113.5"], "203.0.113.5"),
            ("10.0.0.1", ["1.1.1.1, 203.0.113.5, 10.0.0.2"], "203.0.113.5"),
            ("10.0.0.1", ["1.1.1.1,203.0.113.5\t,\t10.2.2.2 , 2001:db8:aaaa::2"], "203.0.113.5"),
            ("10.0.0.1", ["1.1.1.1", "203.0.113.5", "10.0.0.2"], "203.0.113.5"),
            ("10.0.0.1", ["203.0.113.5, 10.0.0.2", "10.0.0.3"], "203.0.113.5"),
            ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", ["::ffff:203.0.113.5"], "203.0.113.5"),
            ("10.0.0.1", ["203.0.113.5:4711"], "203.0.113.5"),
            ("10.0.0.1", ["[2001:db8::5]"], "2001:db8::5"),
            ("10.0.0.1", ["[2001:db8::5]:4711"], "2001:db8::5"),
            // Junk ends the search at the proxy that has let it pass.
            ("10.0.0.1", ["unknown"], "10.0.0.1"), ("10.0.0.1", [""], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.5,"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.5, junk, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["203.0.113.5,,10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["203.0.113.5", "", "10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["203.0.113.5:"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.5:x"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.5:123456"], "10.0.0.1"),
            ("10.0.0.1", ["[203.0.113.5]"], "10.0.0.1"),
            ("10.0.0.1", ["[2001:db8::5"], "10.0.0.1"),
            ("10.0.0.1", ["[2001:db8::5]x"], "10.0.0.1"),
            ("10.0.0.1", ["2001:db8::5]"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.05"], "10.0.0.1"), ("10.0.0.1", ["_hidden"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.5 10.0.0.2"], "10.0.0.1"),
            ("10.0.0.1", ["\"203.0.113.5\""], "10.0.0.1"),
            ("10.0.0.1", [String(repeating: ",", count: 8000)], "10.0.0.1"),
        ] as [(String, [String], String)]
    )
    func corpus(peer: String, fields: [String], client: String) throws {
        let ranges = try Self.proxies.map { try AddressRange(parsing: $0) }
        #expect(head(peer, fields).clientAddress(behind: ranges)?.description == client)
        if fields.isEmpty || peer.hasPrefix("192") {
            #expect(head(peer, fields).clientAddress(behind: [])?.description == client)
        }
    }
}

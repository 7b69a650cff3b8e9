import Testing

@testable import NATS

/// A server's description of itself, and of others.
@Suite struct ServerInfoTests {
    private static func info(_ text: String) throws(NATSError) -> ServerInfo {
        try ServerInfo(Array(text.utf8))
    }

    @Test("A server's description is read")
    func whole() throws {
        let info = try Self.info(
            """
             {"server_name":"n1","version":"2.15.1","headers":true,"jetstream":true,"max_payload":99,
             "tls_required":true,"tls_available":true,"nonce":"abc","ldm":true,
             "connect_urls":["10.0.0.1:4222","[2001:db8::1]:4223","b.example",7,"x:y","/"]} 
            """
        )
        #expect(info.name == "n1" && info.version == "2.15.1" && info.payloadMax == 99)
        #expect(info.hasHeaders && info.hasJetStream && info.demandsTLS && info.offersTLS)
        #expect(info.nonce == "abc" && info.isLeaving)
        let others = ["nats://10.0.0.1:4222", "nats://[2001:db8::1]:4223", "nats://b.example:4222"]
        #expect(info.others.map(\.description) == others)
    }

    @Test("Members of another type count as missing")
    func types() throws {
        let info = try Self.info(
            #"{"version":"1","max_payload":1,"headers":1,"nonce":7,"connect_urls":"a","ldm":"true"}"#
        )
        #expect(!info.hasHeaders && info.nonce == nil && info.others.isEmpty && !info.isLeaving)
    }

    @Test(
        "A description that cannot be used is an error",
        arguments: [
            "", "{", "[]", "7", "{}", #"{"version":"1"}"#, #"{"version":1,"max_payload":1}"#,
            #"{"version":"1","max_payload":"1"}"#, #"{"version":"1","max_payload":-1}"#,
            #"{"version":"1","max_payload":1.5}"#,
        ]
    )
    func unusable(text: String) {
        let error = #expect(throws: NATSError.self) { try Self.info(text) }
        #expect(error?.kind == .malformed)
    }

    @Test("A description may not nest deeply")
    func depth() {
        let nested = String(repeating: "[", count: 60_000)
        let error = #expect(throws: NATSError.self) { try Self.info(nested) }
        #expect(error?.kind == .malformed)
    }

    @Test("Texts and lists of a server are bounded")
    func bounds() throws {
        let name = String(repeating: "n", count: 10_000)
        let urls = (0..<1000).map { "\"h\($0)\"" }.joined(separator: ",")
        let info = try Self.info(
            #"{"server_name":"\#(name)","version":"\#(name)","max_payload":1,"connect_urls":[\#(urls)]}"#
        )
        #expect(info.name.count == 128 && info.version.count == 64 && info.others.count == 64)
    }

    @Test("Versions are compared by their numbers")
    func versions() throws {
        let floor = ServerVersion(2, 14, 0)
        for text in ["2.14.0", "2.14.1", "2.15.0-RC.1", "3.0.0", "2.14.0+x"] {
            #expect(try #require(ServerVersion(text)) >= floor, "\(text)")
        }
        for text in ["2.13.99", "2.9.10", "1.99.99"] {
            #expect(try #require(ServerVersion(text)) < floor, "\(text)")
        }
        for text in ["", "2", "2.14", "2.14.x", "2.14.0.0", "2..0", "-2.14.0", "v2.14.0"] {
            #expect(ServerVersion(text) == nil, "\(text)")
        }
        #expect(ServerVersion("2.14.99999999999999999999") == nil)
    }

    // MARK: - Targets

    private static let first = NATSServerAddress(host: "a.example", port: 4222)

    private static func others(_ hosts: [String]) -> [NATSServerAddress] {
        hosts.map { NATSServerAddress(host: $0) }
    }

    @Test("Servers that a server names are asked in turn, with its TLS")
    func learning() throws {
        var targets = ServerTargets([Self.first])
        let target = targets.next()
        targets.learn(
            Self.others(["10.0.0.1", "a.example", "b.example", "10.0.0.1"]),
            from: target,
            isSecure: true
        )
        #expect(targets.count == 3)
        var seen: Set<String> = []
        for _ in 0..<3 {
            let next = targets.next()
            seen.insert("\(next.address) \(next.certificateHost)")
        }
        #expect(
            seen == [
                "nats://a.example:4222 a.example", "tls://10.0.0.1:4222 a.example",
                "tls://b.example:4222 b.example",
            ]
        )
    }

    @Test("Servers that left the cluster are forgotten, and those of the configuration are kept")
    func forgetting() {
        var targets = ServerTargets([Self.first])
        let target = targets.next()
        for round in 0..<100 {
            let others = Self.others((0..<10).map { "10.0.\(round).\($0)" })
            targets.learn(others, from: target, isSecure: false)
            #expect(targets.count == 11)
        }
        targets.learn([], from: target, isSecure: false)
        #expect(targets.count == 11)
        targets.learn(Self.others(["a.example"]), from: target, isSecure: false)
        #expect(targets.count == 1)
        targets.learn(Self.others((0..<200).map { "h\($0)" }), from: target, isSecure: false)
        #expect(targets.count == 65)
    }

    @Test("All servers refuse only when each did the last time")
    func verdict() {
        var targets = ServerTargets(Self.others(["a", "b"]))
        let (one, two) = (targets.next(), targets.next())
        #expect(!targets.allRefuse)
        targets.note(NATSError(.refused, "x"), of: one)
        #expect(!targets.allRefuse)
        targets.note(NATSError(.refused, "x"), of: two)
        #expect(targets.allRefuse)
        targets.note(NATSError(.disconnected, "x"), of: two)
        #expect(!targets.allRefuse)
        targets.note(NATSError(.refused, "x"), of: two)
        targets.note(nil, of: one)
        #expect(!targets.allRefuse)
    }
}

import TestSupport
import Testing

@testable import NATS

/// What a server sends, as operations.
@Suite struct NATSParserTests {
    private typealias Operation = NATSParser.Operation

    /// Feeds the bytes in pieces, and gives all operations up to the end or the first error.
    private static func operations(
        _ bytes: [UInt8],
        cuts: [Int] = [],
        _ parser: inout NATSParser
    ) throws(NATSError) -> [Operation] {
        var operations: [Operation] = []
        var from = 0
        for cut in cuts + [bytes.count] {
            while from < cut {
                parser.append { room in
                    let count = min(cut - from, room.count)
                    bytes.withUnsafeBytes {
                        room.copyMemory(from: .init(rebasing: $0[from..<from + count]))
                    }
                    from += count
                    return count
                }
                while let operation = try parser.next() { operations.append(operation) }
            }
        }
        return operations
    }

    private static func operations(
        _ bytes: [UInt8],
        cuts: [Int] = []
    ) throws(NATSError) -> [Operation] {
        var parser = NATSParser()
        return try operations(bytes, cuts: cuts, &parser)
    }

    private static func operations(_ text: String) throws(NATSError) -> [Operation] {
        try operations(Array(text.utf8))
    }

    /// Computed, because the leak checker does not find arrays in a global's enums.
    private static var forms: [(text: String, operation: Operation)] {
        [
            ("INFO {\"version\":\"2.15.1\"} \r\n", .info(Array(" {\"version\":\"2.15.1\"} ".utf8))),
            ("PING\r\n", .ping),
            ("PONG\r\n", .pong),
            ("+OK\r\n", .ok),
            ("-ERR 'Authorization Violation'\r\n", .error("Authorization Violation")),
            (
                "-ERR 'Permissions Violation for Publish to \"it's\"'\r\n",
                .error("Permissions Violation for Publish to \"it's\"")
            ),
            ("-ERR\r\n", .error("")),
            ("-ERR '\r\n", .error("'")),
            (
                "MSG a.b 7 5\r\nhello\r\n",
                .message(NATSMessage(subject: "a.b", body: Array("hello".utf8)), subscription: 7)
            ),
            ("MSG a 7 0\r\n\r\n", .message(NATSMessage(subject: "a", body: []), subscription: 7)),
            (
                "MSG a 7 in.box 7\r\na\r\nPING\r\n",
                .message(
                    NATSMessage(subject: "a", reply: "in.box", body: Array("a\r\nPING".utf8)),
                    subscription: 7
                )
            ),
            (
                "MSG\ta  7 \t2\r\nok\r\n",
                .message(NATSMessage(subject: "a", body: Array("ok".utf8)), subscription: 7)
            ),
            (
                "HMSG a 7 12 14\r\nNATS/1.0\r\n\r\nok\r\n",
                .message(
                    NATSMessage(
                        subject: "a",
                        head: Array("NATS/1.0\r\n\r\n".utf8),
                        body: Array("ok".utf8)
                    ),
                    subscription: 7
                )
            ),
            (
                "HMSG a 7 r 16 16\r\nNATS/1.0 503\r\n\r\n\r\n",
                .message(
                    NATSMessage(
                        subject: "a",
                        reply: "r",
                        head: Array("NATS/1.0 503\r\n\r\n".utf8),
                        body: []
                    ),
                    subscription: 7
                )
            ),
        ]
    }

    @Test("Each operation is read, whole and cut at every byte", arguments: forms.indices)
    func form(index: Int) throws {
        let (text, operation) = Self.forms[index]
        let bytes = Array(text.utf8)
        #expect(try Self.operations(bytes) == [operation])
        for cut in 1..<bytes.count {
            #expect(try Self.operations(bytes, cuts: [cut]) == [operation], "cut at \(cut)")
        }
    }

    @Test("Many operations in one read, and byte by byte")
    func many() throws {
        let bytes = Self.forms.flatMap { Array($0.text.utf8) }
        let expected = Self.forms.map(\.operation)
        #expect(try Self.operations(bytes) == expected)
        #expect(try Self.operations(bytes, cuts: Array(1..<bytes.count)) == expected)
    }

    @Test("Nothing is left after whole operations, and something after a part of one")
    func emptiness() throws {
        var parser = NATSParser()
        #expect(parser.isEmpty)
        _ = try Self.operations(Array("PING\r\n".utf8), &parser)
        #expect(parser.isEmpty)
        _ = try Self.operations(Array("MSG a 1 2\r\n".utf8), &parser)
        #expect(!parser.isEmpty)
        _ = try Self.operations(Array("ok\r\nP".utf8), &parser)
        #expect(!parser.isEmpty)
    }

    @Test(
        "What is not of the protocol is an error",
        arguments: [
            "\r\n", "\n", "PING\n", "HTTP/1.1 400 Bad Request\r\n", "ping\r\n", "PUB a 2\r\nok\r\n",
            "MSG\r\n", "MSG a\r\n", "MSG a 1\r\n", "MSG a 1 b c 2\r\n", "MSG a x 2\r\nok\r\n",
            "MSG a -1 2\r\nok\r\n", "MSG a 1 -2\r\nok\r\n", "MSG a 1 +2\r\nok\r\n",
            "MSG a 1 0x2\r\nok\r\n", "MSG a 1 99999999999999999999\r\n",
            "MSG a 99999999999999999999 2\r\nok\r\n", "MSG a 1 16777217\r\n",
            "MSG a 1 1\r\nok\r\n", "MSG a 1 3\r\nok\r\n\r\n", "MSG a 1 2\r\nok\n\r",
            "HMSG a 1 2\r\n", "HMSG a 1 3 2\r\nok\r\n", "HMSG a 1 r s 2 2\r\nok\r\n",
            "HMSG a 1 x 2\r\n",
        ]
    )
    func malformed(text: String) throws {
        let error = try #require(throws: NATSError.self) { try Self.operations(text) }
        #expect(error.kind == .malformed)
        for cut in 1..<text.utf8.count {
            #expect(throws: error) { try Self.operations(Array(text.utf8), cuts: [cut]) }
        }
    }

    @Test("A line and a payload may be as long as their bounds")
    func bounds() throws {
        let longest = "INFO " + String(repeating: "x", count: NATSParser.lineMax - 6) + "\r\n"
        #expect(try Self.operations(longest).count == 1)
        let error = NATSError(.malformed, "the server sent a line of more than 65536 bytes")
        #expect(throws: error) { try Self.operations("I" + longest) }

        let payload = [UInt8](repeating: 7, count: NATSParser.payloadMax)
        let line = Array("MSG a 1 \(payload.count)\r\n".utf8)
        var parser = NATSParser()
        let read = try Self.operations(line + payload + Array("\r\n".utf8), &parser)
        #expect(read == [.message(NATSMessage(subject: "a", body: payload), subscription: 1)])
        // The room for it is given back.
        #expect(try Self.operations(Array("PING\r\nPING\r\n".utf8), cuts: [6], &parser).count == 2)
        #expect(parser.byteCount < 1 << 20)
    }

    @Test("Endless bytes take no more memory than the longest line")
    func endless() throws {
        var parser = NATSParser()
        let error = #expect(throws: NATSError.self) {
            while true {
                parser.append { room in
                    room.initializeMemory(as: UInt8.self, repeating: 0x41)
                    return room.count
                }
                _ = try parser.next()
            }
        }
        #expect(error?.description == "the server sent a line of more than 65536 bytes")
        #expect(parser.byteCount < 1 << 20)
    }

    @Test("Endless operations take no more memory than one read")
    func endlessOperations() throws {
        var parser = NATSParser()
        let bytes =
            Array("MSG some.subject 1 100\r\n".utf8) + Array(repeating: 1, count: 100) + [13, 10]
        var count = 0
        for _ in 0..<20_000 { count += try Self.operations(bytes, cuts: [31], &parser).count }
        #expect(count == 20_000)
        #expect(parser.byteCount <= 256 << 10)
    }

    @Test("A failed read changes nothing")
    func failure() throws {
        struct Failed: Error {}
        var parser = NATSParser()
        _ = try Self.operations(Array("PI".utf8), &parser)
        #expect(throws: Failed.self) { try parser.append { _ throws(Failed) in throw Failed() } }
        #expect(try Self.operations(Array("NG\r\n".utf8), &parser) == [.ping])
    }

    @Test("The status of a message that a server made")
    func status() {
        func message(_ head: String) -> NATSMessage {
            NATSMessage(subject: "a", head: Array(head.utf8), body: [])
        }
        #expect(message("NATS/1.0 503\r\n\r\n").status == 503)
        #expect(message("NATS/1.0 409 Message Size\r\n\r\n").statusText == "Message Size")
        #expect(message("NATS/1.0\r\na: 1\r\n\r\n").status == nil)
        #expect(message("").status == nil)
    }

    @Test("A header field is found by its name")
    func headers() {
        func value(_ head: String) -> String? {
            NATSMessage(subject: "a", head: Array(head.utf8), body: []).header("Nats-Sequence")
        }
        #expect(value("NATS/1.0\r\nNats-Sequence: 7\r\n\r\n") == "7")
        #expect(value("NATS/1.0\r\na: 1\r\nNats-Sequence:8\r\nb: 2\r\n\r\n") == "8")
        #expect(value("NATS/1.0\r\nNats-Sequence:\r\n\r\n") == "")
        #expect(value("NATS/1.0\r\nNats-Sequences: 7\r\n\r\n") == nil)
        #expect(value("NATS/1.0 404 Nats-Sequence: 7\r\n\r\n") == nil)
        #expect(value("") == nil)
    }
}

/// Bytes that wait to be sent.
@Suite struct OutputQueueTests {
    /// Removes everything, in random portions.
    private func drained(_ queue: inout OutputQueue, _ random: inout SeededRandom) -> [UInt8] {
        var all: [UInt8] = []
        while !queue.isEmpty {
            let some = queue.withFront { $0.prefix(.random(in: 1...$0.count, using: &random)) + [] }
            all += some
            queue.remove(some.count)
        }
        return all
    }

    @Test("Bytes leave in the order in which they came, whatever their sizes")
    func order() {
        var random = SeededRandom(seed: 1)
        var queue = OutputQueue()
        for _ in 0..<50 {
            var expected: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                let count = [0, 1, 100, 10_000, 20_000].randomElement(using: &random) ?? 0
                let bytes = [UInt8](repeating: .random(in: 0...255, using: &random), count: count)
                queue.append(bytes)
                expected += bytes
            }
            #expect(queue.byteCount == expected.count)
            #expect(drained(&queue, &random) == expected)
            #expect(queue.isEmpty && queue.byteCount == 0)
        }
    }

    @Test("Small messages leave together")
    func together() {
        var queue = OutputQueue()
        for _ in 0..<10 { queue.append([1, 2]) }
        #expect(queue.withFront { $0.count } == 20)
        queue.remove(3)
        queue.append([7])
        #expect(queue.withFront { Array($0) }.suffix(2) == [2, 7])
        #expect(queue.take().byteCount == 18)
        #expect(queue.isEmpty)
    }
}

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

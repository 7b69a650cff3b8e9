import Testing

@testable import CLI

@Suite struct EventStreamTests {
    private static let text = """
        : logs as they are accepted

        data: {"a":1}

        event: missed
        data: {"logs":3}

        : still here

        data:two
        data:  lines

        id: 7
        retry: 5
        event: nothing

        data


        """

    private static let events: [EventStream.Event] = [
        .init(name: "message", data: Array(#"{"a":1}"#.utf8)),
        .init(name: "missed", data: Array(#"{"logs":3}"#.utf8)),
        .init(name: "message", data: Array("two\n lines".utf8)),
        .init(name: "message", data: []),
    ]

    private func read(_ pieces: [[UInt8]]) -> [EventStream.Event] {
        var stream = EventStream()
        return pieces.flatMap { stream.take($0) }
    }

    @Test(
        "Events are the same wherever the network cuts them and however lines end",
        arguments: ["\n", "\r\n", "\r"]
    )
    func cuts(lineEnd: String) {
        let bytes = Array(Self.text.replacing("\n", with: lineEnd).utf8)
        #expect(read([bytes]) == Self.events)
        #expect(read(bytes.map { [$0] }) == Self.events)
        for cut in bytes.indices {
            #expect(read([Array(bytes[..<cut]), Array(bytes[cut...])]) == Self.events, "\(cut)")
        }
    }

    @Test("An event is one when its empty line has come, and not before")
    func end() {
        var stream = EventStream()
        #expect(stream.take(Array("data: x\r".utf8)) == [])
        #expect(stream.take(Array("\n".utf8)) == [])
        #expect(stream.take(Array("\r".utf8)).count == 1)
        #expect(stream.take(Array("\n\n\n".utf8)) == [])
        #expect(stream.take([]) == [])
    }

    @Test("A byte order mark in front is passed over, and one elsewhere is text")
    func mark() {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let line = Array("data:x\n\n".utf8)
        #expect(read([mark + line]) == [.init(name: "message", data: [0x78])])
        #expect(read([line + mark + line]).count == 1)
    }

    @Test("What is longer than may be is said to be so, kept in bounds, and what follows is read")
    func long() {
        let most = EventStream.bytesMax
        let filling = [UInt8](repeating: 0x78, count: most)
        let next = Array("\n\ndata:y\n\n".utf8)
        let expected = [
            EventStream.Event(name: "message", data: nil), .init(name: "message", data: [0x79]),
        ]
        #expect(read([Array("data:".utf8), filling, filling, next]) == expected)
        // Of many lines.
        let line = Array("data:".utf8) + filling.prefix(most / 2) + [0x0A]
        let lines = line + line + line
        #expect(read([lines + next]) == expected)
        // Nobody needs a comment, nor a field that nobody knows.
        for start in [":", "x"] {
            #expect(read([Array(start.utf8), filling, filling, next]) == [expected[1]])
        }
        let whole = Array(filling.prefix(most - 6))
        #expect(read([Array("data:".utf8) + whole + next]).first?.data == whole)
    }

    @Test("Bytes of any kind are read without harm")
    func noise() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("data:event \r\n\n\n:\u{0}é".utf8)
        for _ in 0..<200 {
            let bytes = (0..<100).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            let cut = Int.random(in: 0...bytes.count)
            #expect(
                read([bytes]) == read([Array(bytes[..<cut]), Array(bytes[cut...])]),
                "\(bytes)"
            )
        }
    }
}

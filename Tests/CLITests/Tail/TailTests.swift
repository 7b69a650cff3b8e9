import System
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

@Suite struct TailedLogTests {
    private func read(_ json: String) -> String? {
        TailedLog(Array(json.utf8))?.line
    }

    @Test("A log is one line: when, where, what")
    func shown() {
        #expect(
            read(
                #"{"destination":"app","logstore":"app-log","topic":"night","log":{"#
                    + #""__time__":"1763745600.25","level":"error","message":"disk full","n":""}}"#
            )
                == #"2025-11-21T17:20:00.250Z  app/app-log  night  level=error message="disk full" n="""#
        )
        #expect(
            read(
                #"{"destination":"d","logstore":"l","topic":"t","source":"10.0.0.7","#
                    + #""tags":{"env":"prod"},"log":{"__time__":"1","a":"1"}}"#
            ) == "1970-01-01T00:00:01.000Z  d/l  t  a=1 __source__=10.0.0.7 __tag__:env=prod"
        )
        // In another order, with something new, and without a topic.
        #expect(
            read(
                #" { "log" : {"__time__":"0"} , "new":[{}], "topic":"","logstore":"l","destination":"d"} "#
            ) == "1970-01-01T00:00:00.000Z  d/l  "
        )
    }

    @Test("Fields that the gateway left out of a large log are counted")
    func cut() {
        let json =
            #"{"destination":"d","logstore":"l","topic":"","cut":{"bytes":900000,"fields":3},"#
            + #""log":{"__time__":"0","a":"1"}}"#
        #expect(read(json) == "1970-01-01T00:00:00.000Z  d/l  a=1 … 3 more fields")
        for (count, shown) in [("-3", ""), ("9223372036854774784", " … 1000000 more fields")] {
            let text = read(json.replacing(#""fields":3"#, with: #""fields":\#(count)"#))
            #expect(text == "1970-01-01T00:00:00.000Z  d/l  a=1\(shown)")
        }
        #expect(TailDisplay.sampled(Array(#"{"matched":9870,"shown":200}"#.utf8))?.shown == 200)
        #expect(TailDisplay.sampled(Array("[]".utf8)) == nil)
    }

    @Test("A hostile log writes nothing to a terminal but a line of text")
    func hostile() throws {
        let fields =
            #""a\u001b[2Jb":"\u001b]0;owned\u0007","c":"x\ny\r\u009b1m","d":"‮reversed","e":"q\"\\","f=g":"1""#
        let line = try #require(
            read(
                #"{"destination":"d\u001b","logstore":"l","topic":"\u0000","log":{"__time__":"\u001b[1m",\#(fields)}}"#
            )
        )
        #expect(
            line.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        )
        #expect(!line.unicodeScalars.contains("\u{202E}"))
        #expect(
            line
                == #""\u{1b}[1m"  "d\u{1b}"/l  "\u{0}"  "a\u{1b}[2Jb"="\u{1b}]0;owned\u{7}" "#
                + #"c="x\ny\r\u{9b}1m" d="\u{202e}reversed" e="q\"\\" "f=g"=1"#
        )
    }

    @Test("Long values are cut, and of many fields the first are shown")
    func long() {
        let long = String(repeating: "x", count: 300)
        #expect(TerminalText.shown(long) == String(repeating: "x", count: 200) + "…")
        #expect(TerminalText.shown(String(long.prefix(200))) == String(long.prefix(200)))
        // One letter may have any number of accents.
        #expect(
            TerminalText.shown("e" + String(repeating: "\u{301}", count: 5000)).utf8.count < 500
        )
        let fields = (0..<100).map { #""f\#($0)":"\#($0)""# }.joined(separator: ",")
        let log = TailedLog(Array(#"{"log":{"__time__":"1",\#(fields)}}"#.utf8))
        #expect(log?.fields.count == TailedLog.fieldsMax)
        #expect(log?.line.hasSuffix("f63=63 … 36 more fields") == true)
    }

    @Test("What people write stays as it is", arguments: ["grün", "日志", "👩‍👩‍👧", "a:b/c-d_e.f", "🇩🇪"])
    func plain(text: String) {
        #expect(TerminalText.shown(text) == text)
    }

    @Test(
        "A time that is none is shown as it is",
        arguments: ["", "soon", "-1", "4294967296", "1.", "1.0000000001", "1.-2"]
    )
    func times(time: String) {
        let line = read(#"{"log":{"__time__":"\#(time)"}}"#)
        #expect(line?.hasPrefix(TerminalText.shown(time)) == true || time == "1.", "\(line ?? "")")
    }

    @Test(
        "What is no log of a tail is none",
        arguments: [
            "", "{}", "[]", #"{"log":{"a":1}}"#, #"{"log":{}"#, #"{"log":{}} x"#, #"{"topic":1}"#,
        ]
    )
    func others(text: String) {
        #expect(TailedLog(Array(text.utf8)) == nil)
    }
}

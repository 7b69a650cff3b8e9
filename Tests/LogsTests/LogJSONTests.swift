import JSON
import TestSupport
import Testing

@testable import Logs

@Suite struct LogJSONTests {
    private static let trailer = GroupTrailer(
        topic: "app",
        source: "10.0.0.12",
        tags: [("env", "prod"), ("quote", "\"")]
    )

    private func text(
        _ logs: EncodedLogs,
        _ shape: LogJSON.Shape = .flat,
        _ framing: LogJSON.Framing = .lines,
        _ trailer: GroupTrailer = Self.trailer,
        tags: [(key: String, value: String)] = []
    ) throws -> String {
        var json = LogJSON(shape, framing, of: trailer, tags: tags)
        try logs.bytes.withUnsafeBytes { try json.append($0) }
        #expect(json.count == logs.count)
        return String(decoding: json.finish(), as: UTF8.self)
    }

    private func logs(
        _ fields: [(key: String, value: String)],
        nanoseconds: UInt32 = 0
    ) -> EncodedLogs {
        var logs = EncodedLogs()
        logs.append(
            time: LogTime(seconds: arrivalSeconds, nanoseconds: nanoseconds),
            fields: fields
        )
        return logs
    }

    // MARK: - Shapes

    @Test("A flat log has its fields, the date and the tag")
    func flat() throws {
        let text = try text(logs([("level", "info"), ("empty", "")]))
        let expected = #"{"date":"2025-01-14T08:30:00Z","tag":"app","level":"info","empty":""}"#
        #expect(text == expected + "\n")
    }

    @Test("A nested log has topic, source, tags and fields apart")
    func nested() throws {
        let text = try text(logs([("date", "x"), ("tag", "y")]), .nested, .lines)
        let expected =
            #"{"time":"2025-01-14T08:30:00Z","tag":"app","topic":"app","source":"10.0.0.12","#
            + #""tags":{"env":"prod","quote":"\""},"fields":{"date":"x","tag":"y"}}"#
        #expect(text == expected + "\n")
    }

    @Test("A destination's tags follow those of the stream, which win")
    func tags() throws {
        let text = try text(
            logs([]),
            .nested,
            .lines,
            GroupTrailer(tags: [("env", "prod")]),
            tags: [("env", "test"), ("rack", "7")]
        )
        #expect(text.contains(#""tags":{"env":"prod","rack":"7"},"fields":{}}"#))
    }

    @Test("A log without fields, and no log at all")
    func empty() throws {
        let lone = #"{"date":"2025-01-14T08:30:00Z","tag":"app"}"#
        #expect(try text(logs([])) == lone + "\n")
        #expect(try text(logs([]), .flat, .array) == "[\(lone)]")
        #expect(try text(EncodedLogs(), .flat, .array) == "[]")
        #expect(try text(EncodedLogs()).isEmpty)
    }

    @Test(
        "A field whose name is taken is renamed, and never to the name of another",
        arguments: [
            ("date", "field_date"), ("tag", "field_tag"),
            ("field_date", "field_field_date"), ("field_field_tag", "field_field_field_tag"),
            ("field_", "field_"), ("update", "update"), ("fieldtag", "fieldtag"), ("Tag", "Tag"),
            ("", ""),
        ]
    )
    func taken(name: String, written: String) throws {
        #expect(try text(logs([(name, "v")])).contains(#","\#(written)":"v"}"#))
    }

    @Test("A text that becomes too long ends soon, and says so")
    func tooLarge() throws {
        let trailer = GroupTrailer(topic: String(repeating: "t", count: 10_000))
        for (bytesMax, isTooLarge) in [(3_000_000, false), (100_000, true)] {
            var json = LogJSON(.flat, .array, of: trailer, bytesMax: bytesMax)
            try LogEntriesTests.logs.bytes.withUnsafeBytes { try json.append($0) }
            #expect(json.isTooLarge == isTooLarge)
            let text = json.finish()
            #expect(text.count < bytesMax + 11_000)
            _ = try JSONValue(parsing: text)
        }
    }

    // MARK: - Times and text

    @Test(
        "A part below the second has three, six or nine digits",
        arguments: [
            (0, "00Z"), (5_000_000, "00.005Z"), (120_000_000, "00.120Z"),
            (1_000, "00.000001Z"), (999_999_999, "00.999999999Z"), (1, "00.000000001Z"),
        ]
    )
    func fractions(nanoseconds: UInt32, written: String) throws {
        let text = try text(logs([], nanoseconds: nanoseconds))
        #expect(text.contains("\"2025-01-14T08:30:\(written)\""))
    }

    @Test(
        "Times are those of the calendar",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_827_696, "2000-02-29T12:34:56Z"),
            (.max, "2106-02-07T06:28:15Z"),
        ]
    )
    func times(seconds: UInt32, written: String) throws {
        var logs = EncodedLogs()
        logs.append(time: LogTime(seconds: seconds), fields: [])
        #expect(try text(logs).contains("\"\(written)\""))
    }

    @Test("Control characters, quotes and backslashes are escaped, a line stays a line")
    func escapes() throws {
        let text = try text(logs([("a\n", "\u{0}\u{1F}\u{B}\t\r\n\"\\/\u{7F}é世😀")]))
        #expect(text.contains(#""a\n":"\u0000\u001f\u000b\t\r\n\"\\/"# + "\u{7F}é世😀\""))
        #expect(text.utf8.filter { $0 == 10 }.count == 1)
    }

    @Test("Bytes that are not UTF-8 are replaced")
    func damagedText() throws {
        var logs = logs([("k", "valuX\"")])
        let place = try #require(logs.bytes.firstIndex(of: UInt8(ascii: "X")))
        logs.bytes[place] = 0xFF
        #expect(try text(logs).contains("\"k\":\"valu\u{FFFD}\\\"\""))
    }

    // MARK: - Against readers

    @Test(
        "A strict reader finds what was encoded, in each shape and framing",
        arguments: 0..<200 as Range<UInt64>
    )
    func readBack(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let sample = sample(&random)
        let expected = try sample.read()
        for shape in [LogJSON.Shape.flat, .nested] {
            let lines = try text(sample, shape, .lines).utf8.split(separator: 10)
            let array = try JSONValue(parsing: Array(try text(sample, shape, .array).utf8))
            let objects = try lines.map { try JSONValue(parsing: Array($0)) }
            #expect(array == .array(objects))
            try #require(objects.count == expected.count)
            for (object, log) in zip(objects, expected) {
                guard case .object(let members) = object else {
                    Issue.record("a log is no object")
                    continue
                }
                var fields = members.dropFirst(2)
                if shape == .nested {
                    let names = ["time", "tag", "topic", "source", "tags", "fields"]
                    #expect(members.map(\.name) == names)
                    guard case .object(let own)? = members.last?.value else { continue }
                    fields = own[...]
                }
                #expect(fields.map(\.name) == log.fields.map { $0[0] })
                #expect(fields.map(\.value) == log.fields.map { .string($0[1]) })
            }
        }
    }

    /// No name is one that the flat shape takes.
    private func sample(_ random: inout SeededRandom) -> EncodedLogs {
        let alphabet = Array(
            "ab\"\\\n\r\t\u{0}\u{1}\u{1f}/{}[],:é世😀\u{2028}\u{FFFD}".unicodeScalars
        )
        func text(_ length: Int) -> String {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...length, using: &random) {
                text.append(alphabet[.random(in: 0..<alphabet.count, using: &random)])
            }
            return String(text)
        }
        var logs = EncodedLogs()
        for _ in 0..<Int.random(in: 0...20, using: &random) {
            let time = LogTime(
                seconds: .random(in: 0...(.max), using: &random),
                nanoseconds: Bool.random(using: &random)
                    ? .random(in: 0..<1_000_000_000, using: &random) : 0
            )
            let fields = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                (key: text(12), value: text(.random(in: 0...300, using: &random)))
            }
            logs.append(time: time, fields: fields)
        }
        return logs
    }

    @Test("Damaged entries are an error or readable JSON, wherever they are cut or changed")
    func damaged() throws {
        let whole = Array(LogEntriesTests.logs.bytes.prefix(600))
        var random = SeededRandom(seed: 2)
        for _ in 0..<5000 {
            var damaged = Array(whole.prefix(.random(in: 0...600, using: &random)))
            random.damage(&damaged, 3)
            var json = LogJSON(.flat, .array, of: Self.trailer)
            guard (try? damaged.withUnsafeBytes({ try json.append($0) })) != nil else { continue }
            _ = try JSONValue(parsing: json.finish())
        }
    }
}

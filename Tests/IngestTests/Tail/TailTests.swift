import Foundation
import Logs
import Queue
import Testing

@testable import Ingest

@Suite struct TailEventTests {
    private static let key = StreamKey(
        destination: "app",
        logstore: "app-log",
        trailer: GroupTrailer(topic: "t", source: "10.0.0.7")
    )

    private func event(_ fields: [(key: String, value: String)]) throws -> (
        log: [String: String], cut: [String: Int]?, bytes: Int
    ) {
        let entry = LogEntry(time: LogTime(seconds: 7), fields: fields)
        let size = fields.reduce(16) { $0 + $1.key.utf8.count + $1.value.utf8.count + 12 }
        let bytes = TailEvent.bytes(entry, size: size, of: Self.key)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix("data: {") && text.hasSuffix("}\n\n"))
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(text.dropFirst(6).utf8)) as? [String: Any]
        )
        return (
            try #require(json["log"] as? [String: String]), json["cut"] as? [String: Int],
            bytes.count
        )
    }

    @Test("A log that fits is whole, however its text is escaped")
    func whole() throws {
        let value = String(repeating: "x", count: 200_000)
        let event = try event([("a", value), ("b", "\u{1b}\"\\\n")])
        #expect(event.cut == nil)
        #expect(event.log["a"] == value && event.log["b"] == "\u{1b}\"\\\n")
    }

    @Test(
        "A large value is cut with a mark, and short ones beside it are whole",
        arguments: ["x", "\u{1}", "世", "\"", "🙂", "\u{2028}"]
    )
    func cut(character: String) throws {
        let value = String(repeating: character, count: 1 << 20)
        let event = try event([("level", "error"), ("body", value), ("after", "fine")])
        let shown = try #require(event.log["body"])
        #expect(event.bytes <= TailEvent.bytesMax, "\(event.bytes)")
        #expect(event.bytes > TailEvent.bytesMax * 9 / 10, "\(event.bytes)")
        #expect(shown.hasPrefix(String(repeating: character, count: 1000)))
        #expect(shown.hasSuffix("… [cut, \(value.utf8.count) bytes]"))
        #expect(event.log["level"] == "error" && event.log["after"] == "fine")
        #expect(event.log["__time__"] == "7")
        #expect(event.cut?["fields"] == 0)
        #expect(event.cut?["bytes"] ?? 0 > value.utf8.count)
    }

    @Test("Several large values share the room")
    func shared() throws {
        let value = String(repeating: "x", count: 300_000)
        let event = try event((0..<4).map { ("f\($0)", value) } + [("short", "1")])
        let sizes = (0..<4).map { event.log["f\($0)"]?.utf8.count ?? 0 }
        #expect(sizes.allSatisfy { $0 > 50_000 && abs($0 - sizes[0]) < 64 }, "\(sizes)")
        #expect(event.log["short"] == "1" && event.bytes <= TailEvent.bytesMax)
    }

    @Test("Of too many fields the first are shown, and the others counted; long names are cut")
    func manyFields() throws {
        let name = String(repeating: "n", count: 100_000)
        let many = (0..<50_000).map { ("field \($0)", "value \($0)") }
        let event = try event([(name, "first")] + many)
        #expect(event.bytes <= TailEvent.bytesMax)
        let left = try #require(event.cut?["fields"])
        // The time is a member, too.
        #expect(left > 40_000 && event.log.count - 1 + left == 50_001)
        #expect(event.log["field 0"] == "value 0")
        #expect(
            event.log.contains { $0.key.hasSuffix("[cut, 100000 bytes]") && $0.value == "first" }
        )
    }
}

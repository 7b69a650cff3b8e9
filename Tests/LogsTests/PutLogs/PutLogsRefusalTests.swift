import Testing

@testable import Logs

@Suite struct PutLogsRefusalTests {
    let decoder = PutLogsDecoder()

    private func fault(_ body: [UInt8]) -> LogDecodingError? { refusal(try decoder.read(body)) }

    @Test("A group that is cut off is refused, wherever that is", arguments: 0..<132)
    func cut(at end: Int) throws {
        // Between two fields there is nothing to see: the group is just smaller.
        let boundaries: [Int] = try referenceGroup.withUnsafeBytes { group in
            var fields = ProtobufReader(group)
            var ends = [0]
            while try fields.next() != nil { ends.append(fields.position) }
            return ends
        }
        let fault = fault(Array(referenceGroup[..<end]))
        #expect((fault == nil) == boundaries.contains(end))
        if let fault { #expect(0...end ~= fault.position) }
    }

    /// Each message inside the ones around it, its fields, and the wire type of each.
    private static let messages: [(name: String, path: [UInt64], types: [UInt64: UInt64])] = [
        ("LogGroup", [], [1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2]), ("Log", [1], [1: 0, 2: 2, 4: 5]),
        ("Content", [1, 2], [1: 2, 2: 2]), ("LogTag", [6], [1: 2, 2: 2]),
    ]

    @Test("Fields of another type are refused with their place", arguments: 0..<4)
    func types(index: Int) {
        let (name, path, types) = Self.messages[index]
        for field in (1...9) as ClosedRange<UInt64> {
            for type in (0...7) as ClosedRange<UInt64> {
                // The text before it is sound.
                var before = name == "Log" ? Wire.number(1, 1_736_843_400) : []
                if path == [6] || path == [1, 2] { before = Wire.pair("k", "v") }
                let wrapped = path.reversed().reduce(before + Wire.any(field, type: type)) {
                    Wire.bytes($1, $0)
                }
                let position = 2 * path.count + before.count
                switch (types[field], type) {
                case (_, 3), (_, 4), (_, 6), (_, 7):
                    #expect(fault(wrapped)?.position == position, "\(name).\(field): \(type)")
                case (nil, _), (type, _):
                    #expect(fault(wrapped) == nil || path.isEmpty && field == 6, "\(name).\(field)")
                default:
                    let reason = "field \(field) of \(name) has another type than it should"
                    let expected = LogDecodingError(position: position, reason: reason)
                    #expect(fault(wrapped) == expected, "\(name).\(field): \(type)")
                }
            }
        }
    }

    @Test("Unknown fields are skipped in every message")
    func unknown() throws {
        let unknown =
            Wire.number(15, .max) + Wire.bytes(2000, [1, 2, 3]) + Wire.fixed32(9, 1)
            + Wire.any(1 << 28, type: 1)
        let content = unknown + Wire.bytes(1, [0x6B]) + unknown + Wire.bytes(2, [0x76]) + unknown
        let log =
            unknown + Wire.number(1, 5) + unknown + Wire.bytes(2, content) + Wire.bytes(3, [0x78])
            + unknown
        let body =
            unknown + Wire.bytes(1, log) + unknown + Wire.bytes(6, content)
            + Wire.bytes(2, Array("category".utf8)) + Wire.bytes(5, [0xFF]) + unknown
        let tracked = try decoder.read(body)
        #expect(try tracked.logs.sound.read() == [Read([["k", "v"]], seconds: 5)])
        #expect(tracked.tags.map { [$0.key, $0.value] } == [["k", "v"]])
    }

    @Test("Lengths that reach out of their message are refused, however large they are")
    func lengths() {
        let lengths: [UInt64] = [4, 5, 100, 127, 1 << 14, 1 << 21, 1 << 28, 1 << 31, 1 << 63, .max]
        for length in lengths {
            let broken = [0x0A] + Wire.varint(length) + [0x12, 0, 0]
            let inLog = Wire.number(1, 1_736_843_400) + [0x12] + Wire.varint(length) + [0x0A, 0, 0]
            let value = [0x0A, 1, 0x6B, 0x12] + Wire.varint(length) + [0, 0, 0]
            let content = Wire.number(1, 1_736_843_400) + Wire.bytes(2, value)
            for body in [broken, Wire.bytes(1, inLog), Wire.bytes(1, content)] {
                // More logs behind: what is too long must not swallow them.
                #expect(fault(body + referenceGroup.prefix(40)) != nil)
                #expect(fault(body) != nil)
            }
        }
        let tooLong: [UInt8] = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]
        #expect(fault([0x0A] + tooLong)?.position == 1)
        #expect(fault([0x08]) == LogDecodingError(position: 1, reason: "the number is cut off"))
        #expect(fault([0, 0])?.position == 0)
    }

    @Test("Topics, sources and logs have bounds")
    func bounds() {
        let text = [UInt8](repeating: 0x74, count: 129)
        let log = Wire.bytes(1, [])
        #expect(fault(log + Wire.bytes(3, Array(text.dropLast()))) == nil)
        for field in [3, 4] as [UInt64] {
            let name = field == 3 ? "Topic" : "Source"
            #expect(
                fault(log + Wire.bytes(field, text))
                    == LogDecodingError(position: 2, reason: "\(name) must not exceed 128 bytes")
            )
        }
        var limits = LogLimits()
        limits.logs = 2
        let decoder = PutLogsDecoder(limits: limits)
        #expect(throws: Never.self) { try decoder.read(log + log) }
        #expect(
            throws: LogDecodingError(
                position: 4,
                reason: JSONFault.Reason.tooManyLogs(2).sentence
            )
        ) { try decoder.read(log + log + log) }
    }

    @Test("Each tag comes once, under a name that is allowed")
    func tags() throws {
        let body = [("a", "1"), ("__topic__", "t"), ("b", "2"), ("a", "3")]
            .flatMap { Wire.bytes(6, Wire.pair($0.0, $0.1)) }
        #expect(
            try decoder.read(body).tags.map { [$0.key, $0.value] }
                == [["a", "3"], ["field__topic__", "t"], ["b", "2"]]
        )
    }

    @Test("No tag is a reason to refuse logs: names are stored as those of fields")
    func storableTags() throws {
        let long = String(repeating: "t", count: 129)
        let stored = storableName(long, bytesMax: 128)
        let large = String(repeating: "é", count: 1 << 19)
        let body = [
            ("", "v"), (long, "l"), ("x", large + "é"), ("y", large), ("__truncated__", "mine"),
        ].flatMap { Wire.bytes(6, Wire.pair($0.0, $0.1)) }
        let tags = try decoder.read(body).tags
        #expect(
            tags.map(\.key) == ["__empty__", stored, "x", "y", "__truncated__"]
        )
        #expect(tags.map(\.value) == ["v", "l", large, large, stored + ",x"])
    }

    @Test("Tags beyond the limit are named as left out; the last of repeated ones counts")
    func manyTags() throws {
        let body = (0..<5000).flatMap { Wire.bytes(6, Wire.pair("k\($0)", "\($0)")) }
        let again = (0..<1000).flatMap { Wire.bytes(6, Wire.pair("k\($0)", "again")) }
        let tags = try decoder.read(body + again).tags
        #expect(tags.count == 1025)
        #expect(tags[..<1024].map(\.key) == (0..<1024).map { "k\($0)" })
        #expect(tags[..<1000].allSatisfy { $0.value == "again" })
        #expect(tags[1000...1023].map(\.value) == (1000..<1024).map { "\($0)" })
        #expect(tags[1024].key == "__truncated__")
        #expect(tags[1024].value.hasPrefix("k1024,k1025,"))
        #expect(tags[1024].value.hasSuffix(",..."))
        #expect(tags[1024].value.utf8.count <= 1030)
    }
}

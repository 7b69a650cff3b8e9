import TestSupport
import Testing

@testable import Logs

/// Texts that a client chooses are compared, hashed and repaired as bytes.
@Suite
struct ByteTextTests {
    @Test("Texts of different bytes are different, even if Swift calls them equal")
    func different() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(composed == decomposed)
        #expect(!composed.hasSameBytes(as: decomposed) && composed.hasSameBytes(as: "\u{E9}"))
        #expect(Set([composed, decomposed, composed].map { ByteText($0) }).count == 2)
    }

    @Test("Tags are told apart by their bytes, few or many", arguments: [2, 16, 17, 100, 1024])
    func tags(count: Int) {
        var tags = GatheredTags()
        let names = (0..<count).map { "\($0)" }
        for name in names { tags.add(name, "first", LogLimits()) }
        for name in names { tags.add(name, name, LogLimits()) }
        #expect(tags.tags.map(\.key) == names && tags.tags.map(\.value) == names)
        var alike = GatheredTags()
        for name in ["\u{E9}", "e\u{301}"] { alike.add(name, "x", LogLimits()) }
        #expect(alike.tags.count == 2)
        // The memory is used again, and nothing is left in it.
        tags.removeAll()
        #expect(tags.tags.isEmpty)
        tags.add("1", "again", LogLimits())
        #expect(tags.tags.map(\.value) == ["again"])
    }

    @Test("The encoded tags equal those of a trailer made of texts")
    func trailer() {
        var limits = LogLimits()
        (limits.tagsGathered, limits.valueBytes) = (4, 10)
        var tags = GatheredTags()
        for (name, value) in [
            ("b", "1"), ("a", "a value that is cut"), ("__truncated__", "own"), ("é", ""),
            ("z", "out"),
        ] {
            tags.add(name, value, limits)
        }
        let sorted = tags.tags.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        tags.sort()
        #expect(tags.trailer == GroupTrailer(tags: sorted))
        #expect(tags.tags.map(\.key) == ["__truncated__", "a", "b", "é"])
        #expect(tags.tags[0].value == "z,a")
    }

    @Test("Text is repaired as Swift repairs it", arguments: 0..<20)
    func repaired(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let pieces: [[UInt8]] = [
            [0x41], [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x98, 0x80], [0xFF], [0xC3],
            [0xE2, 0x82], [0xF0, 0x9F], [0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
        ]
        for count in [1, 2, 5, 100, 10_000] {
            let text = (0..<count).flatMap { _ in pieces.randomElement(using: &random) ?? [] }
            let expected = Array(String(decoding: text, as: UTF8.self).utf8)
            let repaired = text.withUnsafeBufferPointer { text in
                [UInt8](unsafeUninitializedCapacity: 3 * text.count) { place, filled in
                    filled = place.baseAddress.map { UTF8Sequence.repair(text, to: $0) } ?? 0
                }
            }
            #expect(repaired == expected)
            // In steps, as texts of OTLP are.
            var texts = TextMemory()
            texts.start(atMost: 1 << 20)
            text.withUnsafeBufferPointer { texts.append($0) }
            let range = texts.repair(0..<text.count)
            #expect(Array(texts.text(range ?? 0..<text.count)) == expected)
        }
    }

    /// Unicode's own examples (3.9, tables 3-8 to 3-11), and what else can be wrong.
    static let texts: [([UInt8], String)] = [
        ([0xC0, 0xAF, 0xE0, 0x80, 0xBF, 0xF0, 0x81, 0x82, 0x41], "��������A"),
        ([0xED, 0xA0, 0x80, 0xED, 0xBF, 0xBF, 0xED, 0xAF, 0x41], "��������A"),
        ([0xF4, 0x91, 0x92, 0x93, 0xFF, 0x41, 0x80, 0xBF, 0x42], "�����A��B"),
        ([0xE1, 0x80, 0xE2, 0xF0, 0x91, 0x92, 0xF1, 0xBF, 0x41], "����A"),
        ([0x41, 0xC3], "A�"), ([0xF0, 0x9F, 0x98], "�"), ([0x80], "�"), ([0xFF, 0xFE], "��"),
    ]

    private func read(_ name: [UInt8], _ value: [UInt8]) throws -> [Read] {
        var writer = LogWriter(limits: LogLimits())
        writer.start(BatchTiming(arrival: arrival), LogRules())
        writer.startLog()
        name.withUnsafeBufferPointer { name in
            value.withUnsafeBufferPointer { value in
                writer.uncheckedField(name: name, value: value)
            }
        }
        _ = writer.endLog()
        return try writer.logs.sound.read()
    }

    @Test("Bytes that are not UTF-8 are replaced as Unicode recommends, and the log is marked")
    func replaced() throws {
        for (bytes, text) in Self.texts {
            #expect(
                try read([0x6B], bytes) == [Read([["k", text], ["__invalid_utf8__", "k"]])]
            )
            #expect(
                try read(bytes, [0x76]) == [Read([[text, "v"], ["__invalid_utf8__", text]])]
            )
        }
    }

    @Test("Validity is seen at every length and place", arguments: 0..<140)
    func places(count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        let ascii = (0..<count).map { _ in UInt8.random(in: 0..<0x80, using: &random) }
        #expect(ascii.withUnsafeBufferPointer { $0.isUTF8 })
        for place in 0..<count {
            var text = ascii
            text[place] = UInt8.random(in: 0x80...0xFF, using: &random)
            #expect(!text.withUnsafeBufferPointer { $0.isUTF8 })
            guard place + 2 <= count else { continue }
            text.replaceSubrange(place..<place + 2, with: Array("é".utf8))
            #expect(text.withUnsafeBufferPointer { $0.isUTF8 })
        }
    }

    @Test("Random bytes are judged as the standard library judges them")
    func random() throws {
        var random = SeededRandom(seed: 3)
        let bytes: [UInt8] = [
            0x41, 0x80, 0xBF, 0xC3, 0xE0, 0xA0, 0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F,
        ]
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...12, using: &random))
                .map { _ in bytes.randomElement(using: &random)! }
            let isValid = String(validating: text, as: UTF8.self) != nil
            #expect(text.withUnsafeBufferPointer { $0.isUTF8 } == isValid)
        }
    }
}

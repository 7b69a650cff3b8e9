import TestSupport
import Testing

@testable import Logs

@Suite struct UncheckedTextTests {
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

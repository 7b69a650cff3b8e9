import TestSupport
import Testing

@testable import Logs

@Suite struct GatheredTagsTests {
    @Test("Tags that are not UTF-8 become what String makes of them, cut as others are")
    func repaired() {
        let bytes: [UInt8] = [
            0x41, 0x62, 0x80, 0xBF, 0xC3, 0xE0, 0xA0, 0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F,
        ]
        var limits = LogLimits()
        (limits.keyBytes, limits.valueBytes) = (16, 8)
        var random = SeededRandom(seed: 11)
        func text(_ longest: Int) -> [UInt8] {
            (0..<Int.random(in: 0...longest, using: &random))
                .map { _ in bytes.randomElement(using: &random)! }
        }
        for _ in 0..<20_000 {
            let (name, value) = (text(24), text(24))
            var (gathered, expected) = (GatheredTags(), GatheredTags())
            name.withUnsafeBufferPointer { name in
                value.withUnsafeBufferPointer { [limits] in
                    gathered.addUnchecked(name, $0, limits)
                }
            }
            expected.add(
                String(decoding: name, as: UTF8.self),
                String(decoding: value, as: UTF8.self),
                limits
            )
            #expect(gathered.tags.map(\.key) == expected.tags.map(\.key), "\(name)")
            #expect(gathered.tags.map(\.value) == expected.tags.map(\.value), "\(value)")
        }
    }
}

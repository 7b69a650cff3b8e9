import TestSupport
import Testing

@testable import Logs

@Suite struct TextMemoryTests {
    private func written(_ write: (inout TextMemory) -> Void) -> String {
        var memory = TextMemory()
        write(&memory)
        return String(decoding: memory.text(0..<memory.count), as: UTF8.self)
    }

    @Test(
        "Numbers are written as JavaScript writes them",
        arguments: [
            (0, "0"), (-0.0, "-0"), (1, "1"), (-1.5, "-1.5"), (100, "100"), (0.1, "0.1"),
            (123.456, "123.456"), (1e20, "100000000000000000000"), (1e21, "1e+21"),
            (1.25e25, "1.25e+25"), (123_456_789_012_345_683_968, "123456789012345680000"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"), (1e-7, "1e-7"), (1.5e-10, "1.5e-10"),
            (.leastNonzeroMagnitude, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (9_007_199_254_740_992, "9007199254740992"),
            (0.30000000000000004, "0.30000000000000004"), (1e16, "10000000000000000"),
            (.infinity, "Infinity"), (-.infinity, "-Infinity"), (.nan, "NaN"),
        ] as [(Double, String)]
    )
    func doubles(number: Double, text: String) {
        #expect(written { $0.append(number) } == text)
        #expect(
            number.isNaN
                || Double(text == "Infinity" ? "inf" : text == "-Infinity" ? "-inf" : text)
                    == number
        )
    }

    @Test("Any double comes back from its text")
    func anyDouble() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<5000 {
            let number = Double(bitPattern: .random(in: 0 ... .max, using: &random))
            guard number.isFinite else { continue }
            #expect(Double(written { $0.append(number) }) == number)
        }
    }

    @Test(
        "Whole numbers keep all digits",
        arguments: [0, 9, 10, 99, 100, .max, -1, -10, .min] as [Int64]
    )
    func integers(number: Int64) {
        #expect(written { $0.append(decimal: number) } == "\(number)")
        let unsigned = UInt64(bitPattern: number)
        #expect(written { $0.append(decimal: unsigned) } == "\(unsigned)")
    }

    @Test("Texts follow each other, also when the memory grows, and can be taken back")
    func growth() {
        var memory = TextMemory()
        var expected = ""
        for index in 0..<3000 {
            memory.append(decimal: UInt64(index))
            memory.append(",")
            expected += "\(index),"
        }
        #expect(String(decoding: memory.text(0..<memory.count), as: UTF8.self) == expected)
        memory.cut(to: 4)
        memory.append("x")
        #expect(String(decoding: memory.text(0..<memory.count), as: UTF8.self) == "0,1,x")
        memory.shrink(to: 64)
        #expect(memory.count == 0)
    }

    /// A step asked for three bytes for each of its own, and wrote four more: one byte behind the
    /// memory. AddressSanitizer tells.
    @Test(
        "A character that begins at the end of a step of repairing has room",
        arguments: 4090...4100
    )
    func repairedAtTheEndOfAStep(before: Int) {
        let text = Array(repeating: UInt8(0xFF), count: before) + Array("\u{1F600}".utf8)
        var memory = TextMemory()
        memory.start(atMost: 1 << 20)
        text.withUnsafeBufferPointer { memory.append($0) }
        let range = memory.repair(0..<text.count)
        let repaired = String(decoding: memory.text(range ?? 0..<0), as: UTF8.self)
        #expect(repaired == String(repeating: "\u{FFFD}", count: before) + "\u{1F600}")
    }
}

import TestSupport
import Testing

@testable import Logs

@Suite struct LZ4StitcherTests {
    /// Random bytes, one byte repeated, or log text: literals only, long matches, short ones.
    static func part(_ count: Int, _ random: inout SeededRandom) -> [UInt8] {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return (0..<count).map { _ in .random(in: 0...255, using: &random) }
        case 1: return Array(repeating: .random(in: 0...255, using: &random), count: count)
        default:
            var text: [UInt8] = []
            while text.count < count {
                let line = "{\"level\":\"info\",\"ms\":\(Int.random(in: 0..<9999, using: &random))}"
                text += Array(line.utf8)
            }
            return Array(text[..<count])
        }
    }

    static func stitch(_ parts: [[UInt8]], trailer: [UInt8], expecting: Int) throws -> [UInt8] {
        var stitcher = LZ4Stitcher(expecting: expecting)
        for part in parts { try stitcher.append(LZ4.compress(part), rawBytes: part.count) }
        stitcher.append(literal: trailer)
        let whole = parts.reduce([], +) + trailer
        #expect(stitcher.rawBytes == whole.count)
        let (body, rawBytes) = stitcher.finish()
        #expect(rawBytes == whole.count)
        #expect(try LZ4.decompress(body, rawBytes: rawBytes) == whole)
        #expect(try body.withUnsafeBytes { try LZ4Shape(of: $0) }.rawBytes == rawBytes)
        return body
    }

    @Test("Joined blocks decode byte for byte", arguments: 0..<20)
    func joined(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        for _ in 0..<150 {
            let largest = [4, 40, 400, 9000].randomElement(using: &random) ?? 1
            let parts = (0..<Int.random(in: 1...12, using: &random)).map { _ in
                Self.part(.random(in: 0...largest, using: &random), &random)
            }
            let trailer = Self.part(.random(in: 0...300, using: &random), &random)
            let expecting = Bool.random(using: &random) ? 0 : parts.joined().count
            let body = try Self.stitch(parts, trailer: trailer, expecting: expecting)
            let separately = parts.map { LZ4.compress($0).count }.reduce(0, +)
            #expect(body.count <= separately + trailer.count + trailer.count / 255 + 2)
        }
    }

    @Test("Lengths around each edge of the literal extension join")
    func edges() throws {
        let lengths = [0, 1, 4, 5, 11, 12, 13, 14, 15, 16, 254, 255, 256, 269, 270, 271, 524, 525]
        var random = SeededRandom(seed: 3)
        for first in lengths {
            for second in lengths {
                let parts = [first, second].map { count in
                    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
                }
                for trailer in [0, 1, 14, 15, 270 - min(first, 270)] {
                    let trailer = Array(referenceGroup.prefix(trailer))
                    _ = try Self.stitch(parts, trailer: trailer, expecting: 0)
                }
            }
        }
    }

    @Test("Bytes without a match are one literal-only block, as the facts have it")
    func literalOnly() {
        var stitcher = LZ4Stitcher(expecting: 132)
        stitcher.append(literal: referenceGroup)
        #expect(stitcher.finish().body == bytes(hex: "f075") + referenceGroup)
        #expect(LZ4Stitcher(expecting: 0).finish().body == [0])
    }

    @Test("Very many small incompressible blocks join in one pass")
    func manyLiterals() throws {
        var random = SeededRandom(seed: 4)
        let parts = (0..<2000).map { _ in
            (0..<255).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        _ = try Self.stitch(parts, trailer: [1], expecting: 0)
    }

    @Test("A damaged block is refused and leaves the joined blocks unchanged")
    func damaged() throws {
        let good = LZ4.compress(referenceGroup)
        var stitcher = LZ4Stitcher(expecting: 0)
        try stitcher.append(good, rawBytes: 132)
        for cut in 0..<good.count {
            // A cut block may be a legal shorter one; its size gives it away.
            let refused = LZ4Error.self
            #expect(throws: refused) { try stitcher.append(Array(good[..<cut]), rawBytes: 132) }
        }
        #expect(throws: LZ4Error.self) { try stitcher.append(good, rawBytes: 131) }
        try stitcher.append(good, rawBytes: 132)
        let (body, rawBytes) = stitcher.finish()
        #expect(try LZ4.decompress(body, rawBytes: rawBytes) == referenceGroup + referenceGroup)
    }
}

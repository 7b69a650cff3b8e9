import TestSupport
import Testing

@testable import Logs

@Suite
struct LZ4Tests {
    @Test("Alibaba's own block decodes to the reference group")
    func reference() throws {
        let block = bytes(
            hex: """
                f1220a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367
                120d68c3a96c6c6f20e4b896e7958c0a1608892d00f03f090a05656d70747912
                002515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f
                69645f5f1212354432443145304135434442344533362d30320b0a03656e7612
                0470726f64
                """
        )
        #expect(block.count == 133)
        #expect(try LZ4.decompress(block, rawBytes: 132) == referenceGroup)
    }

    @Test("A match that overlaps itself decodes")
    func overlap() throws {
        let block = bytes(hex: "7f7b2261223a227801001150787878227d")
        let text = "{\"a\":\"" + String(repeating: "x", count: 40) + "\"}"
        #expect(try LZ4.decompress(block, rawBytes: 48) == Array(text.utf8))
    }

    @Test("Compressed content comes back", arguments: [0, 1, 12, 13, 14, 15, 269, 270, 100_000])
    func roundTrip(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        for step in [1, 4, 256] {
            let raw = (0..<count).map { _ in UInt8(Int.random(in: 0..<step, using: &random)) }
            let block = LZ4.compress(raw)
            #expect(try LZ4.decompress(block, rawBytes: count) == raw)
            #expect(try block.withUnsafeBytes { try LZ4Shape(of: $0) }.rawBytes == count)
        }
    }

    @Test("A wrong size is an error")
    func wrongSize() {
        let block = LZ4.compress(referenceGroup)
        for rawBytes in [-1, 0, 131, 133, 100_000, Int.max] {
            #expect(throws: LZ4Error.self) { try LZ4.decompress(block, rawBytes: rawBytes) }
        }
        #expect(throws: LZ4Error.self) { try LZ4.decompress([], rawBytes: 0) }
    }

    @Test("The decoder decodes each changed block that the shape accepts")
    func damaged() {
        let text = Array(String(repeating: "{\"level\":\"info\",\"n\":12}\n", count: 20).utf8)
        let whole = LZ4.compress(text + referenceGroup)
        let rawBytes = text.count + referenceGroup.count
        var random = SeededRandom(seed: 2)
        for _ in 0..<30_000 {
            var block = whole
            if Bool.random(using: &random) {
                block.removeLast(.random(in: 1..<block.count, using: &random))
            }
            random.damage(&block, Int.random(in: 0...3, using: &random))
            let shape = try? block.withUnsafeBytes { try LZ4Shape(of: $0) }
            if let shape {
                #expect((try? LZ4.decompress(block, rawBytes: shape.rawBytes)) != nil, "\(block)")
            }
            _ = try? LZ4.decompress(block, rawBytes: rawBytes)
        }
    }

    // MARK: - Joined blocks

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

    static func stitch(_ parts: [[UInt8]], trailer: [UInt8]) throws -> [UInt8] {
        var stitcher = LZ4Stitcher()
        for part in parts {
            let block = LZ4.compress(part)
            let walked = try block.withUnsafeBytes { try LZ4Shape(of: $0) }
            let own = block.withUnsafeBytes { LZ4Shape(ofOwn: $0, rawBytes: part.count) }
            #expect(own == nil || own == walked)
            try stitcher.append(block, rawBytes: part.count, isOwn: true)
        }
        stitcher.append(literal: trailer)
        let whole = parts.reduce([], +) + trailer
        #expect(stitcher.rawBytes == whole.count)
        let (pieces, rawBytes) = stitcher.finish()
        let body = Array(pieces.joined())
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
            let body = try Self.stitch(parts, trailer: trailer)
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
                    _ = try Self.stitch(parts, trailer: trailer)
                }
            }
        }
    }

    @Test("Bytes without a match are one literal-only block, as the facts have it")
    func literalOnly() {
        var stitcher = LZ4Stitcher()
        stitcher.append(literal: referenceGroup)
        #expect(Array(stitcher.finish().body.joined()) == bytes(hex: "f075") + referenceGroup)
        #expect(LZ4Stitcher().finish().body == [[0]])
    }

    @Test("The last token is found without a walk, unless another byte could be it")
    func ownShape() throws {
        let text = Array(String(repeating: "of the same words ", count: 4).utf8)
        // A token of seven literals looks like the letter p.
        for (end, isFound) in [("1234567", true), ("p123456p1234567", false)] {
            let raw = text + Array(end.utf8)
            let block = LZ4.compress(raw)
            let own = block.withUnsafeBytes { LZ4Shape(ofOwn: $0, rawBytes: raw.count) }
            #expect((own != nil) == isFound)
            _ = try Self.stitch([raw, raw], trailer: [])
        }
    }

    @Test("Very many small incompressible blocks join in one pass")
    func manyLiterals() throws {
        var random = SeededRandom(seed: 4)
        let parts = (0..<2000).map { _ in
            (0..<255).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        _ = try Self.stitch(parts, trailer: [1])
    }

    @Test("A damaged block is refused and leaves the joined blocks unchanged")
    func damagedPart() throws {
        let good = LZ4.compress(referenceGroup)
        var stitcher = LZ4Stitcher()
        try stitcher.append(good, rawBytes: 132)
        for cut in 0..<good.count {
            // A cut block may be a legal shorter one; its size gives it away.
            let refused = LZ4Error.self
            #expect(throws: refused) { try stitcher.append(Array(good[..<cut]), rawBytes: 132) }
        }
        #expect(throws: LZ4Error.self) { try stitcher.append(good, rawBytes: 131) }
        try stitcher.append(good, rawBytes: 132)
        let (pieces, rawBytes) = stitcher.finish()
        let body = Array(pieces.joined())
        #expect(try LZ4.decompress(body, rawBytes: rawBytes) == referenceGroup + referenceGroup)
    }
}

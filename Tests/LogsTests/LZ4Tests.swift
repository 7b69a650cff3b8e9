import TestSupport
import Testing

@testable import Logs

@Suite struct LZ4Tests {
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
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                block[.random(in: 0..<block.count, using: &random)] = .random(
                    in: 0...255,
                    using: &random
                )
            }
            let shape = try? block.withUnsafeBytes { try LZ4Shape(of: $0) }
            if let shape {
                #expect((try? LZ4.decompress(block, rawBytes: shape.rawBytes)) != nil, "\(block)")
            }
            _ = try? LZ4.decompress(block, rawBytes: rawBytes)
        }
    }
}

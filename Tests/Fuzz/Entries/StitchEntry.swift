@testable import Logs

/// Blocks of lz4 as they come from disk, joined: two sizes of two bytes, then two blocks of those
/// sizes, then text.
enum StitchEntry: FuzzEntry {
    static let name = "lz4"

    private static let contentBytesMax = 1 << 20

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard bytes.count >= 4 else { return }
        let sizes = [0, 2].map { Int(bytes[$0]) | Int(bytes[$0 + 1]) << 8 }
        var rest = bytes[4...]
        var expected: [UInt8] = []
        var stitcher = LZ4Stitcher(expecting: 0)
        for size in sizes {
            let block = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            guard let content = try self.content(of: block) else { continue }
            do throws(LZ4Error) {
                try stitcher.append(block, rawBytes: content.count)
            } catch {
                throw Contradiction(description: "a whole block is not taken: \(error)")
            }
            expected += content
        }
        stitcher.append(literal: Array(rest))
        expected += rest
        let (body, rawBytes) = stitcher.finish()
        try check(rawBytes == expected.count, "\(rawBytes) bytes instead of \(expected.count)")
        let joined = try? LZ4.decompress(body, rawBytes: rawBytes)
        try check(joined == expected, "joined blocks hold something else")
    }

    /// Nil for what is no block; what the walk takes for one, lz4 must take too.
    private static func content(of block: [UInt8]) throws(Contradiction) -> [UInt8]? {
        let shape = exactly(block) { block in try? LZ4Shape(of: block) }
        guard let shape, shape.rawBytes <= contentBytesMax else { return nil }
        guard let content = try? LZ4.decompress(block, rawBytes: shape.rawBytes) else {
            throw Contradiction(description: "lz4 refuses a block of the shape \(shape)")
        }
        return content
    }
}

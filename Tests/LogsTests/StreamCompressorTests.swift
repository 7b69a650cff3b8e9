import TestSupport
import Testing

@testable import Logs

@Suite struct StreamCompressorTests {
    private func inflated(_ body: [UInt8], _ coding: ContentCoding) throws -> [UInt8] {
        try InflaterTests().inflate(body, coding)
    }

    private static let content: [UInt8] = {
        var random = SeededRandom(seed: 7)
        return (0..<1_000_000).map { $0 % 3 == 0 ? .random(in: 0...255, using: &random) : 65 }
    }()

    @Test(
        "Content in parts of any size comes back",
        arguments: [StreamCompressor.Format.gzip, .zstd],
        [1_000, 300_000, 1_000_000, 1_000_001]
    )
    func parts(format: StreamCompressor.Format, partBytes: Int) throws {
        var stream = StreamCompressor(format, level: 3)
        var compressed: [UInt8] = []
        Self.content.withUnsafeBytes { content in
            for start in stride(from: 0, to: content.count, by: partBytes) {
                let end = min(start + partBytes, content.count)
                compressed += stream.append(UnsafeRawBufferPointer(rebasing: content[start..<end]))
            }
        }
        compressed += stream.finish()
        #expect(compressed.count < Self.content.count)
        #expect(try inflated(compressed, format == .gzip ? .gzip : .zstd) == Self.content)
    }

    @Test("An empty content is a whole file", arguments: [StreamCompressor.Format.gzip, .zstd])
    func empty(format: StreamCompressor.Format) throws {
        var stream = StreamCompressor(format, level: 3)
        let compressed = stream.finish()
        #expect(!compressed.isEmpty)
        #expect(try inflated(compressed, format == .gzip ? .gzip : .zstd).isEmpty)
    }

    @Test("gzip of a body at once", arguments: [0, 1, 200_000])
    func gzip(count: Int) throws {
        let body = Array(Self.content.prefix(count))
        #expect(try inflated(Gzip.compress(body), .gzip) == body)
    }
}

import TestSupport
import Testing

@testable import HTTP

@Suite struct ChunkDecoderTests {
    /// What a coded body came to.
    struct Decoding: Equatable {
        var body: [UInt8] = []
        var rest = 0
        var isComplete = false
        var problem: RequestProblem?

        static func of(
            _ bytes: [UInt8],
            cuts: [Int] = [],
            bodyBytesMax: Int = 1000,
            _ limits: HTTPServer.Limits = .init()
        ) -> Decoding {
            var decoder = ChunkDecoder()
            var decoding = Decoding()
            let memory = UnsafeMutableRawBufferPointer.allocate(
                byteCount: bytes.count,
                alignment: 1
            )
            defer { memory.deallocate() }
            memory.copyBytes(from: bytes)
            guard let base = memory.baseAddress else { return decoding }
            var read = 0
            var written = 0
            for end in cuts + [bytes.count] {
                do throws(RequestProblem) {
                    decoding.isComplete = try decoder.decode(
                        base,
                        read: &read,
                        end: end,
                        written: &written,
                        bodyBytesMax: bodyBytesMax,
                        limits
                    )
                } catch {
                    return Decoding(problem: error)
                }
                if decoding.isComplete { break }
            }
            decoding.body = Array(memory[..<written])
            decoding.rest = bytes.count - read
            return decoding
        }
    }

    private static let coded = Array(
        "5\r\nhello\r\n00A;name=\"value\"\r\n0123456789\r\n1\r\n!\r\n0\r\nX-T: 1\r\nY:\r\n\r\nGET"
            .utf8
    )

    @Test("Chunks become one body, and the bytes after it stay unread", arguments: 0...coded.count)
    func decodes(cut: Int) {
        let decoding = Decoding.of(Self.coded, cuts: [cut])
        #expect(decoding.isComplete)
        #expect(String(decoding: decoding.body, as: UTF8.self) == "hello0123456789!")
        #expect(decoding.rest == 3)
    }

    @Test("Chunks may come byte by byte")
    func byteByByte() {
        let cuts = Array(1..<Self.coded.count)
        #expect(Decoding.of(Self.coded, cuts: cuts) == Decoding.of(Self.coded))
    }

    @Test("A body beyond its limit is refused before its data", arguments: [10, 9])
    func bodyLimit(limit: Int) {
        let text = "5\r\nhello\r\n5\r\n" + (limit == 10 ? "world\r\n0\r\n\r\n" : "")
        let decoding = Decoding.of(Array(text.utf8), bodyBytesMax: limit)
        #expect(decoding.problem?.status == (limit == 10 ? nil : 413))
        let huge = Decoding.of(Array("fffffffffffffff\r\n".utf8))
        #expect(huge.problem?.status == 413)
    }

    @Test("Extensions and trailers are bounded over the whole body", arguments: [0, 1])
    func sideLimits(excess: Int) {
        var limits = HTTPServer.Limits()
        limits.chunkExtensionBytes = 20
        limits.trailerBytes = 28
        let ten = ";" + String(repeating: "e", count: 9)
        let extensions = "1\(ten)\r\na\r\n1\(ten)\(excess == 1 ? "e" : "")\r\nb\r\n0\r\n\r\n"
        let decoding = Decoding.of(Array(extensions.utf8), limits)
        #expect(decoding.problem?.status == (excess == 0 ? nil : 400))
        let value = String(repeating: "v", count: 10 + excess)
        let trailers = "0\r\nA: \(value)\r\nB: 0123456789\r\n\r\n"
        let trailed = Decoding.of(Array(trailers.utf8), limits)
        #expect(trailed.problem?.status == (excess == 0 ? nil : 400))
    }

    @Test("Mutated bodies never trap, and decode equally in any pieces", arguments: 0..<40)
    func mutations(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var limits = HTTPServer.Limits()
        limits.chunkExtensionBytes = 24
        limits.trailerBytes = 24
        for _ in 0..<500 {
            let bytes = Self.coded.mutated(using: &random)
            let whole = Decoding.of(bytes, bodyBytesMax: 30, limits)
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            #expect(Decoding.of(bytes, cuts: cuts, bodyBytesMax: 30, limits) == whole, "\(bytes)")
        }
    }
}

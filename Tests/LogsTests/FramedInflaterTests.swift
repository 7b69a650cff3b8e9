import CLZ4
import System
import TestSupport
import Testing

@testable import Logs

/// Bodies that come in frames: LZ4's frame format and the framing format of Snappy.
@Suite struct FramedInflaterTests {
    private let tests = InflaterTests()
    private static let text = InflaterTests.text

    private func inflate(
        _ body: [UInt8],
        _ coding: ContentCoding,
        rawBytes: Int? = nil,
        limit: InflateLimit = InflateLimit()
    ) throws(InflateError) -> [UInt8] {
        try tests.inflate(body, coding, rawBytes: rawBytes, limit: limit)
    }

    private static let contents: [[UInt8]] = [
        [], [7], referenceGroup, text, text + text + text, [UInt8](repeating: 0, count: 300_000),
    ]

    @Test("An lz4 frame tells its size itself", arguments: Compressors.LZ4FrameStyle.all)
    func lz4(style: Compressors.LZ4FrameStyle) throws {
        for raw in Self.contents {
            let frame = Compressors.lz4Frame(raw, style)
            #expect(try inflate(frame, .lz4) == raw)
            #expect(try inflate(frame, .lz4, rawBytes: raw.count) == raw)
            #expect(throws: InflateError.self) {
                try inflate(frame, .lz4, rawBytes: raw.count + 1)
            }
        }
        let twice = Compressors.lz4Frame(Self.text, style) + Compressors.lz4Frame([1, 2], style)
        #expect(try inflate(twice, .lz4) == Self.text + [1, 2])
    }

    @Test("Snappy may be framed", arguments: [true, false])
    func snappy(compresses: Bool) throws {
        for raw in Self.contents {
            let stream = Compressors.snappyStream(raw, compresses: compresses)
            #expect(try inflate(stream, .snappy) == raw)
            // Streams may be put behind each other, with padding between.
            #expect(try inflate(stream + [0xFE, 2, 0, 0, 9, 9] + stream, .snappy) == raw + raw)
        }
    }

    private static func framed(_ raw: [UInt8]) -> [(ContentCoding, [UInt8])] {
        [
            (.lz4, Compressors.lz4Frame(raw, .init())),
            (.snappy, Compressors.snappyStream(raw, compresses: true)),
        ]
    }

    @Test("Framed content may become as large as the limit and no larger")
    func limit() throws {
        let raw = Array((Self.text + Self.text).prefix(200_000))
        for (coding, body) in Self.framed(raw) {
            #expect(try inflate(body, coding, limit: InflateLimit(bytes: 200_000)) == raw)
            #expect(throws: InflateError.tooLarge(limit: 199_999)) {
                try inflate(body, coding, limit: InflateLimit(bytes: 199_999))
            }
        }
    }

    @Test("A bomb of frames is refused long before it is inflated")
    func bomb() throws {
        let body = Compressors.lz4Frame([UInt8](repeating: 0, count: 9 << 20), .init(blockSize: 7))
        #expect(throws: InflateError.suspiciousRatio(limit: 200)) { try inflate(body, .lz4) }
        #expect(tests.inflater.producedBytes <= body.count * 200 + 1)
        let snappy = Compressors.snappyStream([UInt8](repeating: 0, count: 32 << 20))
        #expect(throws: InflateError.tooLarge(limit: 10 << 20)) { try inflate(snappy, .snappy) }
        #expect(tests.inflater.producedBytes <= body.count * 200 + 1 + 10 << 20)
    }

    @Test("Frames, blocks and chunks may be tiny and many")
    func manyPieces() throws {
        let stream: [UInt8] = [0xFF, 6, 0, 0] + Array("sNaPpY".utf8)
        let head = Array(Compressors.lz4Frame([], .init(hasChecksums: false)).dropLast(4))
        let empty = Compressors.lz4Frame([], .init())
        for (coding, start, piece, end) in [
            (.lz4, [], empty, []), (.lz4, empty, bytes(hex: "502a4d1800000000"), []),
            // A block of one byte as it is.
            (.lz4, head, [1, 0, 0, 0x80, 7], [0, 0, 0, 0]),
            (.snappy, stream, [0xFE, 0, 0, 0], []), (.snappy, stream, stream, []),
        ] as [(ContentCoding, [UInt8], [UInt8], [UInt8])] {
            let body = start + repeatElement(piece, count: 5000).joined() + end
            let content = [UInt8](repeating: 7, count: piece.last == 7 ? 5000 : 0)
            #expect(try inflate(body, coding) == content)
        }
    }

    @Test("A framed body that is cut off is refused wherever it is cut")
    func cut() {
        for (coding, body) in Self.framed(referenceGroup) {
            // A stream of Snappy has no end of its own: it may end behind each chunk.
            let ends: Set = coding == .snappy ? [10] : []
            for count in 1..<body.count where !ends.contains(count) {
                #expect(throws: InflateError.self, "\(coding) \(count)") {
                    try inflate(Array(body[..<count]), coding)
                }
            }
            #expect(throws: InflateError.self) { try inflate(body + [1], coding) }
        }
    }

    @Test("Changed frames are refused, or inflate to their content and no more than allowed")
    func damaged() {
        var random = SeededRandom(seed: 7)
        let raw = Array(Self.text.prefix(3000))
        for (coding, whole) in Self.framed(raw) {
            for _ in 0..<2000 {
                var body = whole
                body[.random(in: 0..<body.count, using: &random)] ^= .random(
                    in: 1...255,
                    using: &random
                )
                let content = try? inflate(body, coding, limit: InflateLimit(bytes: 4000))
                #expect(content?.count ?? 0 <= 4000)
            }
        }
    }

    @Test("A chunk of a framed stream has a checksum, a bound and a known kind")
    func chunks() throws {
        let start: [UInt8] = [0xFF, 6, 0, 0] + Array("sNaPpY".utf8)
        #expect(try inflate(start, .snappy) == [])
        var wrong = Compressors.snappyStream(referenceGroup, compresses: false)
        wrong[14] ^= 1
        for (body, reason) in [
            (wrong, "a checksum differs"), (start + [0, 3, 0, 0, 1, 2, 3], "has no checksum"),
            (start + [1, 3, 0, 0, 1, 2, 3], "has no checksum"),
            (start + [2, 0, 0, 0], "unknown kind"), (start + [0x7F, 0, 0, 0], "unknown kind"),
            (start + [0xFF, 6, 0, 0] + Array("SnApPy".utf8), "begins wrongly"),
            (start + [1, 5, 0, 1] + [UInt8](repeating: 0, count: 65_541), "more than 65536"),
            (start + [0, 8, 0, 0, 0, 0, 0, 0, 0x81, 0x80, 4, 0], "more than 65536"),
            (start + [0xFE, 9, 0, 0, 1], "cut off"), (start + [0xFE, 9], "cut off"),
        ] as [([UInt8], String)] {
            do throws(InflateError) {
                _ = try inflate(body, .snappy)
                Issue.record("\(reason) is taken")
            } catch {
                #expect(error.description.contains(reason), "\(error)")
            }
        }
    }

    @Test("The checksum is CRC-32 with Castagnoli's polynomial")
    func checksum() {
        // RFC 3720, B.4.
        for (bytes, sum) in [
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
            ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43), (Array(0..<32), 0x46DD_794E),
            (Array("123456789".utf8), 0xE306_9283), ([], 0),
        ] as [([UInt8], UInt32)] {
            #expect(bytes.withUnsafeBytes { CRC32C.checksum(of: $0) } == sum)
        }
    }

    /// A block that begins as a frame would have to copy from before its own start.
    @Test("No raw block begins as a frame does")
    func magic() {
        for (coding, start) in [
            (.lz4, [0x04, 0x22, 0x4D, 0x18]),
            (.snappy, [0xFF, 6, 0, 0] + Array("sNaPpY".utf8)),
        ] as [(ContentCoding, [UInt8])] {
            var random = SeededRandom(seed: 11)
            for _ in 0..<200 {
                let body = start + (0..<200).map { _ in .random(in: 0...255, using: &random) }
                #expect(throws: InflateError.self) {
                    _ = try inflate(body, coding, rawBytes: coding == .lz4 ? 1 << 10 : nil)
                }
            }
        }
    }
}

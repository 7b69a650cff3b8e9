import Glibc
import TestSupport
import Testing

@testable import Logs

@Suite struct InflaterTests {
    let inflater = Inflater()

    static let text = Array(
        (0..<4000).map { "{\"level\":\"info\",\"n\":\($0 * 7919 % 10_007)}\n" }.joined().utf8
    )

    static func compressed(_ raw: [UInt8], _ coding: ContentCoding) -> [UInt8] {
        switch coding {
        case .lz4: LZ4.compress(raw)
        case .deflate: Deflate.compress(raw)
        case .gzip: Compressors.gzip(raw)
        case .zstd: Zstd.compress(raw)
        case .snappy: Compressors.snappy(raw)
        }
    }

    func inflate(
        _ body: [UInt8],
        _ coding: ContentCoding,
        rawBytes: Int? = nil,
        limit: InflateLimit = InflateLimit()
    ) throws(InflateError) -> [UInt8] {
        // An allocation of exactly the body's size, so that AddressSanitizer sees a byte too many.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
        copy.copyBytes(from: body)
        defer { copy.deallocate() }
        let content = try inflater.inflate(
            UnsafeRawBufferPointer(copy),
            coding,
            rawBytes: rawBytes,
            limit: limit
        )
        // The spare bytes are there to be read.
        let spare = UnsafeRawBufferPointer(start: content.baseAddress, count: content.count + 64)
        _ = spare.reduce(0) { $0 &+ Int($1) }
        return Array(content)
    }

    @Test("Compressed content comes back", arguments: ContentCoding.allCases)
    func roundTrip(coding: ContentCoding) throws {
        for raw in [Self.text, [], [1], referenceGroup, Array(Self.text.prefix(40_000)), [0]] {
            let body = Self.compressed(raw, coding)
            #expect(try inflate(body, coding, rawBytes: raw.count) == raw)
            if coding != .lz4 { #expect(try inflate(body, coding) == raw) }
        }
    }

    @Test("A claimed size that is wrong is refused", arguments: ContentCoding.allCases)
    func wrongSize(coding: ContentCoding) {
        let body = Self.compressed(referenceGroup, coding)
        for claimed in [0, 131, 133, 5000] {
            // A stream is inflated no further than the claim, so its size stays unknown.
            let actual = claimed < 132 && coding != .lz4 ? nil : 132
            #expect(throws: InflateError.sizeMismatch(declared: claimed, actual: actual)) {
                try inflate(body, coding, rawBytes: claimed)
            }
        }
        #expect(throws: InflateError.self) { try inflate(body, coding, rawBytes: -1) }
    }

    @Test("An lz4 body needs the size of its content")
    func sizeMissing() {
        #expect(throws: InflateError.sizeMissing) { try inflate(LZ4.compress([1]), .lz4) }
    }

    @Test(
        "A body may become as large as the limit and no larger",
        arguments: ContentCoding.allCases
    )
    func limit(coding: ContentCoding) throws {
        let raw = Array(Self.text.prefix(100_000))
        let body = Self.compressed(raw, coding)
        let fits = InflateLimit(bytes: 100_000)
        #expect(try inflate(body, coding, rawBytes: 100_000, limit: fits) == raw)
        let tight = InflateLimit(bytes: 99_999)
        #expect(throws: InflateError.tooLarge(limit: 99_999)) {
            try inflate(body, coding, rawBytes: coding == .lz4 ? 100_000 : nil, limit: tight)
        }
    }

    /// Snappy never makes more than 22 bytes of one.
    @Test(
        "A bomb is refused long before it is inflated",
        arguments: ContentCoding.allCases.filter { $0 != .snappy }
    )
    func bomb(coding: ContentCoding) throws {
        let zeros = [UInt8](repeating: 0, count: 8 << 20)
        let body = Self.compressed(zeros, coding)
        #expect(throws: InflateError.suspiciousRatio(limit: 200)) {
            try inflate(body, coding, rawBytes: coding == .lz4 ? zeros.count : nil)
        }
        // Small content may be repetitive to any degree.
        let few = Array(zeros.prefix(1 << 20))
        #expect(try inflate(Self.compressed(few, coding), coding, rawBytes: few.count) == few)
        // And an operator may allow more.
        let patient = InflateLimit(ratio: 100_000)
        #expect(try inflate(body, coding, rawBytes: zeros.count, limit: patient) == zeros)
    }

    @Test("Content is inflated at most one byte beyond its claimed size")
    func stopsAtClaim() {
        let raw = [UInt8](repeating: 7, count: 4 << 20)
        let bodies: [(ContentCoding, [UInt8])] =
            ContentCoding.allCases.filter { $0 != .lz4 }.map { ($0, Self.compressed(raw, $0)) } + [
                (.lz4, Compressors.lz4Frame(raw, .init())),
                (.lz4, Compressors.lz4Frame(raw, .init(blockSize: 7, tellsSize: true))),
                (.snappy, Compressors.snappyStream(raw)), (.zstd, Compressors.zstdStream(raw)),
            ]
        let patient = InflateLimit(ratio: 100_000)
        for (coding, body) in bodies {
            for claimed in [0, 1, 1000] {
                let before = inflater.producedBytes
                #expect(throws: InflateError.sizeMismatch(declared: claimed, actual: nil)) {
                    try inflate(body, coding, rawBytes: claimed, limit: patient)
                }
                #expect(inflater.producedBytes - before <= claimed + 1, "\(coding) \(claimed)")
            }
        }
        #expect(inflater.buffer.heldBytes <= 2000)
    }

    @Test("A size that is only claimed allocates nothing", arguments: [1 << 30, Int.max])
    func claim(rawBytes: Int) {
        #expect(throws: InflateError.self) { try inflate([0], .lz4, rawBytes: rawBytes) }
        #expect(inflater.buffer.heldBytes < 1 << 20)
    }

    @Test(
        "A snappy block that cannot hold what it claims allocates nothing",
        arguments: ["808004", "ffffff03 00", "ffffffff0f", "ffffffffff7f", "80", ""]
    )
    func snappyClaim(block: String) {
        #expect(throws: InflateError.self) { try inflate(bytes(hex: block), .snappy) }
        #expect(inflater.buffer.heldBytes < 1 << 16)
    }

    @Test("A body that is cut off is refused wherever it is cut", arguments: ContentCoding.allCases)
    func cut(coding: ContentCoding) {
        let body = Self.compressed(referenceGroup, coding)
        for count in 0..<body.count {
            #expect(throws: InflateError.self) {
                try inflate(Array(body[..<count]), coding, rawBytes: 132)
            }
        }
    }

    @Test("Bytes behind the end are refused", arguments: ContentCoding.allCases)
    func garbage(coding: ContentCoding) {
        let body = Self.compressed(referenceGroup, coding)
        for garbage in [[0], [1, 2, 3, 4, 5, 6, 7, 8], Array("\n".utf8)] as [[UInt8]] {
            #expect(throws: InflateError.self) {
                try inflate(body + garbage, coding, rawBytes: 132)
            }
        }
    }

    @Test("Changed bodies are refused, or inflate to no more than allowed")
    func damaged() {
        var random = SeededRandom(seed: 5)
        let raw = Array(Self.text.prefix(3000))
        for coding in ContentCoding.allCases {
            let whole = Self.compressed(raw, coding)
            for _ in 0..<3000 {
                var body = whole
                random.damage(&body, Int.random(in: 1...4, using: &random))
                let rawBytes = coding == .lz4 ? raw.count : nil
                let limit = InflateLimit(bytes: 4000)
                let content = try? inflate(body, coding, rawBytes: rawBytes, limit: limit)
                #expect(content?.count ?? 0 <= 4000)
            }
        }
    }

    /// A sanitizer has memory of its own.
    private static let isSanitized =
        dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    @Test("Without memory a sound body is not called damaged", .enabled(if: !isSanitized))
    func noMemory() async {
        await #expect(processExitsWith: .success) {
            // Its decoder needs eight megabytes.
            let body = Compressors.zstdStream(InflaterTests.text, windowLog: 23)
            let tests = InflaterTests()
            let most = rlim_t(writableBytes() + (4 << 20))
            var limit = rlimit(rlim_cur: most, rlim_max: most)
            setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
            do throws(InflateError) {
                _ = try tests.inflate(body, .zstd)
                preconditionFailure("it was inflated")
            } catch {
                precondition(error == .noMemory, "\(error)")
            }
        }
    }

    @Test("Without memory a sound lz4 frame is not called damaged", .enabled(if: !isSanitized))
    func noMemoryForFrames() async {
        await #expect(processExitsWith: .success) {
            // Its blocks may have four megabytes, and the decoder makes room for two.
            let head: [UInt8] = [0x04, 0x22, 0x4D, 0x18, 0x60, 0x70, 0x73]
            let body = head + [1, 0, 0, 0x80] + [UInt8(ascii: "a")] + [0, 0, 0, 0]
            let tests = InflaterTests()
            let most = rlim_t(writableBytes() + (4 << 20))
            var limit = rlimit(rlim_cur: most, rlim_max: most)
            precondition((try? tests.inflate(body, .lz4)) == [UInt8(ascii: "a")])
            setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
            do throws(InflateError) {
                _ = try tests.inflate(body, .lz4)
                preconditionFailure("it was inflated")
            } catch {
                precondition(error == .noMemory, "\(error)")
            }
        }
    }

    @Test("A gzip body may have several members, a zstd body several frames")
    func members() throws {
        let twice = referenceGroup + referenceGroup
        let gzip = Compressors.gzip(referenceGroup)
        #expect(try inflate(gzip + gzip, .gzip, rawBytes: 264) == twice)
        let zstd = Zstd.compress(referenceGroup)
        #expect(try inflate(zstd + Compressors.zstdStream(referenceGroup), .zstd) == twice)
    }

    @Test("A zstd frame that does not tell its size is read, and its window is bounded")
    func zstdStream() throws {
        #expect(try inflate(Compressors.zstdStream(Self.text), .zstd) == Self.text)
        #expect(try inflate(Compressors.zstdStream(Self.text, windowLog: 23), .zstd) == Self.text)
        // The decoder that needed the window is gone, and the next body is read by a new one.
        #expect(inflater.zstd.keepsDecoder == false)
        #expect(throws: InflateError.self) {
            try inflate(Compressors.zstdStream(Self.text, windowLog: 27), .zstd)
        }
        #expect(try inflate(Zstd.compress(referenceGroup), .zstd) == referenceGroup)
    }

    @Test("Raw deflate is not taken for a zlib stream")
    func rawDeflate() {
        #expect(throws: InflateError.self) {
            try inflate(Compressors.rawDeflate(Self.text), .deflate)
        }
    }

    @Test("A large body leaves no large buffer behind")
    func shrinks() throws {
        let large = [UInt8](repeating: 7, count: 1 << 20)
        _ = try inflate(LZ4.compress(large), .lz4, rawBytes: large.count)
        #expect(inflater.buffer.heldBytes > 1 << 20)
        inflater.shrink()
        #expect(inflater.buffer.heldBytes <= 256 << 10)
    }

    @Test(
        "Codings have the names that SLS and HTTP give them",
        arguments: [
            ("lz4", .lz4, true), ("deflate", .deflate, true), ("GZIP", .gzip, true),
            ("x-gzip", .gzip, true), ("zstd", .zstd, true), ("zlib", .deflate, false),
            ("Snappy", .snappy, false), ("x-snappy-framed", .snappy, false),
        ]
            as [(String, ContentCoding, Bool)]
    )
    func names(name: String, coding: ContentCoding, isSLS: Bool) {
        #expect(ContentCoding(contentEncoding: name) == coding)
        #expect(ContentCoding(compressType: name) == (isSLS ? coding : nil))
        #expect(ContentCoding(contentEncoding: name + "x") == nil)
        #expect(ContentCoding(compressType: name + "x") == nil)
    }
}

/// Bytes of this process that can be written to.
private func writableBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 200)
    guard fgets(&text, CInt(text.count), file) != nil else { return 0 }
    let words = text.prefix { $0 != 0 }.split(separator: 0x20).map { word in
        Int(String(decoding: word.map(UInt8.init(truncatingIfNeeded:)), as: UTF8.self)) ?? 0
    }
    return words[5] * sysconf(CInt(_SC_PAGESIZE))
}

import Logs

/// Compressed bodies. The first byte chooses the coding and whether the size is told; then the next
/// two are the size.
enum InflateEntry: FuzzEntry {
    static let name = "inflate"

    private static let limit = InflateLimit(bytes: 64 << 10, ratio: 20, freeBytes: 8 << 10)

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard bytes.count > 3 else { return }
        let codings = ContentCoding.allCases
        let coding = codings[Int(bytes[0] & 0x7F) % codings.count]
        let size = bytes[0] < 0x80 ? nil : Int(bytes[1]) | Int(bytes[2]) << 8
        let body = Array(bytes[(size == nil ? 1 : 3)...])
        let inflater = Inflater()
        let read = try inflateTwice(inflater, body, coding, size)
        guard case .success(let content) = read else { return }
        let allowance = min(limit.bytes, max(limit.freeBytes, body.count * limit.ratio))
        try check(content.count <= allowance, "\(content.count) bytes of \(body.count)")
        try check(size == nil || content.count == size, "another size than was told")
        try check(inflater.producedBytes >= 2 * content.count, "work that is not counted")
        try comesBack(content)
    }

    private static func inflateTwice(
        _ inflater: Inflater,
        _ body: [UInt8],
        _ coding: ContentCoding,
        _ size: Int?
    ) throws(Contradiction) -> Result<[UInt8], InflateError> {
        let readings = (0..<2).map { _ in
            exactly(body) { body in
                Result { () throws(InflateError) in
                    let content = try inflater.inflate(body, coding, rawBytes: size, limit: limit)
                    // The bytes behind it are readable.
                    let readable = UnsafeRawBufferPointer(
                        start: content.baseAddress,
                        count: content.count + 64
                    )
                    _ = readable.reduce(0) { $0 &+ Int($1) }
                    return Array(content)
                }
            }
        }
        try check(readings[0] == readings[1], "one body inflates to two: \(readings)")
        return readings[0]
    }

    private static func comesBack(_ content: [UInt8]) throws(Contradiction) {
        let inflater = Inflater()
        for (coding, body) in [
            (ContentCoding.lz4, LZ4.compress(content)), (.deflate, Deflate.compress(content)),
            (.zstd, Zstd.compress(content)),
        ] {
            let back = exactly(body) { body in
                (try? inflater.inflate(body, coding, rawBytes: content.count, limit: .init()))
                    .map { Array($0) }
            }
            try check(back == content, "\(coding) gives back something else")
        }
    }
}

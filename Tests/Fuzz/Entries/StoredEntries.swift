import System

@testable import Logs

/// Rows as a damaged disk gives them back: logs and what ends their LogGroup.
enum StoredEntry: FuzzEntry {
    static let name = "stored"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let count = try exactly(bytes) { bytes throws(Contradiction) in
            var entries = LogEntries(bytes)
            var (count, end) = (0, 0)
            while let range = try? entries.next() {
                try check(range.lowerBound == end, "a gap before \(range)")
                try check(range.upperBound <= bytes.count, "\(range) lies outside")
                (count, end) = (count + 1, range.upperBound)
                try isWhole(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            return end == bytes.count ? count : nil
        }
        if let count {
            let logs = EncodedLogs(bytes: bytes, count: count)
            let pieces = (try? logs.pieces(atMost: 64, logs: 3)) ?? []
            try check(pieces.flatMap(\.bytes) == bytes, "pieces are not the whole")
        }
        let trailer = GroupTrailer(bytes: bytes)
        let again = GroupTrailer(topic: trailer.topic, source: trailer.source, tags: trailer.tags)
        try check(again.topic == trailer.topic, "another topic")
        try check(again.source == trailer.source, "another source")
        try check(again.tags.count == trailer.tags.count, "other tags")
    }

    /// A log that can be shown can be edited.
    private static func isWhole(_ entry: UnsafeRawBufferPointer) throws(Contradiction) {
        guard let log = try? LogEntry(entry) else { return }
        var logs = EncodedLogs()
        logs.append(time: log.time, fields: log.fields)
        let again = logs.bytes.withUnsafeBytes { bytes in try? LogEntry(bytes) }
        try check(again?.time == log.time, "another time")
        try check(again?.fields.count == log.fields.count, "other fields")
    }
}

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
        var stitcher = LZ4Stitcher()
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
        let (pieces, rawBytes) = stitcher.finish()
        let body = Array(pieces.joined())
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

/// Queries of web tracking by GET, and what is percent-encoded in general.
enum QueryEntry: FuzzEntry {
    static let name = "query"
    static let bytesMax = 2048

    static func run(_ query: [UInt8]) throws(Contradiction) {
        let decoder = QueryLogDecoder(limits: Fixed.limits)
        let read = try readTwice(query) { query throws(LogDecodingError) in
            [
                ReadGroup(
                    try decoder.decode(
                        LogBody(query, Fixed.timing, Fixed.strict),
                        leavingOut: "key"
                    )
                )
            ]
        }
        try read.keepsPromises(of: query)
        let pairs = self.pairs(query)
        let written = pairs.map { escaped($0[0]) + [UInt8(ascii: "=")] + escaped($0[1]) }
        let again = self.pairs(Array(written.joined(separator: [UInt8(ascii: "&")])))
        try check(pairs == again, "written anew they are other pairs: \(pairs), \(again)")
        // Decoding of a form and of a path differ in the plus only.
        guard !query.contains(where: { "+&".utf8.contains($0) }),
            let text = percentDecodedText(query[...])
        else { return }
        let value = self.pairs(Array("=".utf8) + query)[0][1]
        try check(value == Array(text.utf8), "one escape, two meanings: \(text)")
    }

    private static func pairs(_ query: [UInt8]) -> [[[UInt8]]] {
        exactly(query) { query in
            var form = FormPairs(query)
            var (name, value): ([UInt8], [UInt8]) = ([], [])
            var pairs: [[[UInt8]]] = []
            while form.next(name: &name, value: &value) != nil { pairs.append([name, value]) }
            return pairs
        }
    }

    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return text.flatMap { [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}

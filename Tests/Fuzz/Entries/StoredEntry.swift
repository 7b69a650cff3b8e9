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

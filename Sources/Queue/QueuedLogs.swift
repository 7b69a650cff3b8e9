package import Logs
package import System

/// Logs that wait, for people who look.
package struct QueuedLog: Sendable {
    package let stream: StreamKey
    package let accepted: WallTime
    package let entry: LogEntry
    /// The bytes of its texts.
    package let weight: Int

    /// What is kept of one log, and of all logs that are looked at together, but for the last one.
    static let bytesMax = 64 << 10
    package static let bytesTogether = 1 << 20

    /// Keeps the beginning of a long log. The value where it is cut says how many bytes follow.
    package init(stream: StreamKey, accepted: WallTime, entry: LogEntry) {
        self.stream = stream
        self.accepted = accepted
        let bytes = entry.fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        self.entry = bytes > Self.bytesMax ? Self.beginning(of: entry, bytes) : entry
        weight = min(bytes, Self.bytesMax) + stream.trailer.bytes.count
    }

    private static func beginning(of entry: LogEntry, _ bytes: Int) -> LogEntry {
        var (room, left) = (bytesMax, bytes)
        var fields: [(key: String, value: String)] = []
        for field in entry.fields {
            let key = text(field.key, atMost: room)
            let value = text(field.value, atMost: room - key.utf8.count)
            room -= key.utf8.count + value.utf8.count
            left -= key.utf8.count + value.utf8.count
            let isWhole =
                key.utf8.count == field.key.utf8.count && value.utf8.count == field.value.utf8.count
            fields.append((key, isWhole ? value : "\(value)… (\(left) more bytes)"))
            guard isWhole else { break }
        }
        return LogEntry(time: entry.time, fields: fields)
    }

    /// The beginning of a text, up to a whole character.
    private static func text(_ text: String, atMost count: Int) -> String {
        guard text.utf8.count > count else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: max(0, count))
        while end > text.startIndex, String(text.utf8[..<end]) == nil {
            end = text.utf8.index(before: end)
        }
        return String(text.utf8[..<end]) ?? ""
    }
}

extension [QueuedLog] {
    /// The first logs that may be shown together.
    package func prefix(within bytesMax: Int) -> ArraySlice<QueuedLog> {
        var bytes = 0
        return prefix { log in
            defer { bytes += log.weight }
            return bytes < bytesMax
        }
    }
}

/// Shows logs of the queue without taking them out.
package protocol LogPeeker: Sendable {
    /// The oldest logs of a destination, or of one of its logstores, oldest first in each stream: at most
    /// `limit`, and fewer where they have more bytes than are looked at together. May read from the disk.
    func oldestLogs(
        of destination: String,
        logstore: String?,
        limit: Int
    ) throws(QueueError) -> [QueuedLog]
}

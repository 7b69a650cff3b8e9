package import Logs
package import System

/// Logs that wait, for people who look.
package struct QueuedLog: Sendable {
    package let stream: StreamKey
    package let accepted: WallTime
    package let entry: LogEntry
    /// The bytes of its texts.
    package let weight: Int

    /// The most that is kept of one log; all logs shown together may exceed `bytesTogether` by one log.
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
            let key = field.key.prefix(bytes: room)
            let value = field.value.prefix(bytes: room - key.utf8.count)
            room -= key.utf8.count + value.utf8.count
            left -= key.utf8.count + value.utf8.count
            let isWhole =
                key.utf8.count == field.key.utf8.count && value.utf8.count == field.value.utf8.count
            fields.append((key, isWhole ? value : "\(value)… (\(left) more bytes)"))
            guard isWhole else { break }
        }
        return LogEntry(time: entry.time, fields: fields)
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

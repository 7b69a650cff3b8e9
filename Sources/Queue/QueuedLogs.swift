package import Logs
package import System

/// Logs that wait, for people who look.
package struct QueuedLog: Sendable {
    package let stream: StreamKey
    package let accepted: WallTime
    package let entry: LogEntry
    /// The bytes of its texts.
    package let weight: Int

    /// What is kept of all logs that are looked at together, but for the last one.
    package static let bytesTogether = 1 << 20

    /// Keeps the beginning of a long log. The value where it is cut says how many bytes follow.
    package init(stream: StreamKey, accepted: WallTime, entry: LogEntry) {
        self.stream = stream
        self.accepted = accepted
        self.entry = entry.beginning
        weight = min(entry.bytes, LogEntry.shownMax) + stream.trailer.bytes.count
    }
}

extension LogEntry {
    /// The bytes that lists show of a log.
    package static let shownMax = 64 << 10

    fileprivate var bytes: Int {
        fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    /// What lists show. The value where a long log is cut says how many bytes follow.
    package var beginning: LogEntry {
        var (room, left) = (Self.shownMax, bytes)
        guard left > room else { return self }
        var fields: [(key: String, value: String)] = []
        for field in self.fields {
            let key = field.key.prefix(bytes: room)
            let value = field.value.prefix(bytes: room - key.utf8.count)
            room -= key.utf8.count + value.utf8.count
            left -= key.utf8.count + value.utf8.count
            let isWhole =
                key.utf8.count == field.key.utf8.count && value.utf8.count == field.value.utf8.count
            fields.append((key, isWhole ? value : "\(value)… (\(left) more bytes)"))
            guard isWhole else { break }
        }
        return LogEntry(time: time, fields: fields)
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

/// The waiting streams: the first ones of each destination, and the number of further ones.
package struct StreamListing: Sendable {
    package struct Entry: Sendable {
        package let stream: StreamKey
        package let logs: Int
        /// Before compression.
        package let rawBytes: Int
        /// Packets that are sealed and not acknowledged.
        package let packets: Int
        package let oldest: WallTime

        package init(
            stream: StreamKey,
            logs: Int,
            rawBytes: Int,
            packets: Int,
            oldest: WallTime
        ) {
            self.stream = stream
            self.logs = logs
            self.rawBytes = rawBytes
            self.packets = packets
            self.oldest = oldest
        }
    }

    package struct Destination: Sendable {
        package let entries: [Entry]
        /// The number of further streams with logs.
        package let more: Int

        package init(entries: [Entry] = [], more: Int = 0) {
            self.entries = entries
            self.more = more
        }
    }

    package let destinations: [String: Destination]

    package init(_ destinations: [String: Destination]) {
        self.destinations = destinations
    }
}

/// A question about streams.
package struct StreamWish: Sendable, Equatable {
    package enum Order: String, Sendable, CaseIterable {
        /// Streams that have waited longest come first.
        case oldest
        /// Streams with the most bytes come first.
        case largest
    }

    /// Nil for all destinations.
    package var destination: String?
    package var order = Order.oldest
    /// The greatest number of streams of each destination.
    package var count = 20

    package static let countMax = 1000

    package init() {}
}

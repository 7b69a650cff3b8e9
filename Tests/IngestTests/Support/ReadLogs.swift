import Logs
import Queue

extension Batch {
    /// The logs as they were encoded.
    func entries() throws -> [LogEntry] { try logs.entries() }

    /// The fields of each log as `name=value`.
    func fields() throws -> [[String]] { try logs.fields() }

    /// The fields of each log in one text.
    func lines() throws -> [String] { try fields().map { $0.joined(separator: " ") } }

    /// The stream's tags as `name=value`.
    var tags: [String] { stream.trailer.tags.map { "\($0.key)=\($0.value)" } }
}

extension EncodedLogs {
    func entries() throws -> [LogEntry] {
        try bytes.withUnsafeBytes { bytes in
            var ranges = LogEntries(bytes)
            var entries: [LogEntry] = []
            while let range = try ranges.next() {
                entries.append(try LogEntry(UnsafeRawBufferPointer(rebasing: bytes[range])))
            }
            return entries
        }
    }

    func fields() throws -> [[String]] { try entries().map(\.texts) }
}

extension LogEntry {
    var texts: [String] { fields.map { "\($0.key)=\($0.value)" } }
}

extension StreamID {
    /// A stream of the home shard.
    static func home(_ number: Int64) -> StreamID { StreamID(shard: .home, number: number) }
}

extension PacketID {
    static func home(_ number: Int64) -> PacketID { PacketID(shard: .home, number: number) }
}

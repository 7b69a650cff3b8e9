import Logs
import Queue

extension Batch {
    /// The logs as they were encoded.
    func entries() throws -> [LogEntry] { try logs.entries() }
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
}

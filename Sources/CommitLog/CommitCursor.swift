/// Reads the commits of a log one after the other, up to the log's present end.
package struct CommitCursor {
    private static let readBytes = 4 << 20

    private let log: any CommitLog
    package private(set) var reader: CommitReader
    private var entries: ArraySlice<NumberedEntry> = []

    package init(_ log: any CommitLog, _ reader: CommitReader) {
        self.log = log
        self.reader = reader
    }

    /// nil: there is none any more.
    package mutating func next() throws(CommitLogError) -> Commit? {
        while true {
            while let entry = entries.popFirst() {
                if let commit = try reader.take(entry) { return commit }
            }
            entries = try log.read(from: reader.end.entry + 1, atMost: Self.readBytes)[...]
            guard !entries.isEmpty else { return nil }
        }
    }
}

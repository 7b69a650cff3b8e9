/// Reads the commits of a log one after the other, up to the log's present end.
package struct CommitReader {
    private static let readBytes = 4 << 20

    private let log: any CommitLog
    private var assembler: CommitAssembler
    private var entries: ArraySlice<NumberedEntry> = []

    package init(_ log: any CommitLog, after position: LogPosition) {
        self.log = log
        assembler = CommitAssembler(after: position)
    }

    /// The last commit that was read.
    package var position: LogPosition { assembler.position }
    /// The last entry that was read. It may belong to an unfinished commit.
    package var end: LogPosition { assembler.end }

    /// nil: there is none any more.
    package mutating func next() throws(CommitLogError) -> Commit? {
        while true {
            while let entry = entries.popFirst() {
                if let commit = try assembler.add(entry) { return commit }
            }
            entries = try log.read(from: end.entry + 1, atMost: Self.readBytes)[...]
            guard !entries.isEmpty else {
                try assembler.checkEnd()
                return nil
            }
        }
    }
}

import SQLite

/// A request that waits until enough logs match. Each log is looked at once.
struct LogWait: Sendable, Equatable {
    let count: Int
    let query: LogQuery
    private var found = 0
    /// The position that the search has reached.
    private var cursor: Int64

    init(count: Int, query: LogQuery) {
        self.count = count
        self.query = query
        cursor = query.after
    }

    var isOver: Bool { found >= count }

    /// Searches the logs that arrived since the last look.
    mutating func look(in sandbox: Sandbox) throws(SLSRefusal) {
        var rest = query
        rest.after = cursor
        rest.newest = false
        var wait = self
        try sandbox.look(rest) { archive, slice throws(SQLiteError) in
            wait.found += try archive.count(rest, within: slice)
            wait.cursor = slice.upperBound
            return !wait.isOver
        }
        self = wait
    }
}

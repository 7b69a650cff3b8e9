import SQLite

/// Somebody waits until so many logs match. Each log is looked at once.
struct LogWait: Sendable, Equatable {
    let count: Int
    let query: LogQuery
    private var found = 0
    /// How far it has looked.
    private var cursor: Int64

    init(count: Int, query: LogQuery) {
        self.count = count
        self.query = query
        cursor = query.after
    }

    var isOver: Bool { found >= count }

    /// Looks at what has arrived since the last time.
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

import SQLite

/// What a number in the database can be at most. Only payloads have checksums, so a damaged number is told
/// by its size, before anything is counted with it; what lies within is too small to overflow a sum.
enum Plausible {
    /// Numbers, pack counters, and logs or bytes of a whole destination: half a million years of a
    /// million a second would not reach 2^64, and 2^53 is 285 years of them.
    static let counts: ClosedRange<Int64> = 0...(1 << 53)
    static let ids: ClosedRange<Int64> = 1...(1 << 53)
    /// Of one row: SQLite and LZ4 hold no larger payloads.
    static let rowCounts: ClosedRange<Int64> = 0...(1 << 31)
}

extension Statement {
    /// The column's number, which is one of `range` unless the disk changed it.
    func integer(_ column: CInt, in range: ClosedRange<Int64>) throws(SQLiteError) -> Int64 {
        let value = integer(column)
        guard range.contains(value) else {
            throw .damage("column \(column) cannot be \(value) in: \(sql)")
        }
        return value
    }
}

import SQLite

extension Salvage {
    /// Keeps the memory of requests as far as it can be read. Nothing that was accepted depends on it: what is
    /// lost of it costs a log twice where a device sends a request once more.
    mutating func saveRepeats() throws(SQLiteError) {
        losses.repeats = true
        guard var table = try damagedTable("*", of: "repeats", key: "number") else { return }
        do throws(SQLiteError) {
            try saved.write()
            var isWhole = true
            try table.read(0...remainder.highest) { row throws(SQLiteError) in
                guard let request = try? RepeatRecord(row) else { return isWhole = false }
                try saved.repeats.add(request)
            }
            try saved.commit()
            losses.repeats = !isWhole || table.hasGaps
        } catch  where error.kind == .full {
            saved.rollBack()
        }
    }
}

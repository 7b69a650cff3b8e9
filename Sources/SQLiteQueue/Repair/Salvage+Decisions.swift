import SQLite

extension Salvage {
    /// Keeps what operators decided as far as it can be read; what is lost of it is as the configuration says.
    mutating func saveDecisions() throws(SQLiteError) {
        losses.decisions = true
        let table = try file.readable { () throws(SQLiteError) in
            try DecisionTable(damaged, WriteTransaction(damaged))
        }
        guard let table else { return }
        do throws(SQLiteError) {
            try saved.write()
            // A page that cannot be read ends the list: there are few.
            let settings = try file.readable { () throws(SQLiteError) in try table.settings() }
            losses.decisions = settings == nil
            for (name, value) in settings ?? [:] { try saved.decisions.set(name, to: value) }
            let entries = try file.readable { () throws(SQLiteError) in
                try table.entries(before: .max, limit: 1000)
            }
            for entry in (entries ?? []).reversed() { try saved.decisions.add(entry) }
            try saved.commit()
        } catch  where error.kind == .full {
            saved.rollBack()
        }
    }
}

extension Salvage {
    /// Keeps the dead letters that are what was stored.
    mutating func saveLetters() throws(SQLiteError) {
        guard var table = damagedTable(DeadRecord.columns, of: "dead", key: "id") else { return }
        var uncommitted = 0
        try table.read(0...highest) { row throws(SQLiteError) in
            let letter = StoredLetter(row)
            guard letter.isIntact, letter.record.log != nil else { return }
            try saved.write()
            try saved.dead.add(letter.record)
            uncommitted += letter.cost
            guard uncommitted > 4 << 20 else { return }
            uncommitted = 0
            try saved.commit()
            try saved.connection.checkpoint(.passive)
        }
        try saved.commit()
    }
}

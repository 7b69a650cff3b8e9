extension Salvage {
    /// The old ledger goes on, with what is missing among the discarded.
    mutating func closeLedgers() throws(SQLiteError) {
        var found: [String: Int64] = [:]
        for (id, stream) in streams {
            let logs = Int64(try saved.sums(of: id, 0...Int64.max).logs)
            found[stream.destination, default: 0] += logs
            report.savedLogs += logs
        }
        var letters: [String: Int] = [:]
        for sum in try saved.dead.sums() {
            letters[sum.destination, default: 0] += sum.letters
            report.savedLogs += Int64(sum.letters)
        }
        let names = [String](found.keys) + letters.keys
        for name in names where ledgers[name] == nil { ledgers[name] = Ledger() }
        try saved.write()
        for (name, old) in ledgers {
            var ledger = old
            ledger.close(queued: found[name] ?? 0, dead: Int64(letters[name] ?? 0))
            report.lostLogs += ledger.discarded - old.discarded
            try saved.save(ledger, of: name)
        }
        try saved.commit()
    }
}

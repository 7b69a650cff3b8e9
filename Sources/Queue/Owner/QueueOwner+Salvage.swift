import System

extension QueueOwner {
    /// Moves a damaged database aside and puts what can be read of it in its place.
    func salvage(because damage: SQLiteError) throws(QueueError) {
        // A disk that damages what was just written would fill itself with copies.
        guard nextSalvage <= .now else { throw QueueError(damage, path: directory.database) }
        nextSalvage = .now + .seconds(60)
        let aside = try directory.linkAside(.now)
        journal.error(
            "queue database is damaged and is moved aside",
            ["reason": damage, "kept": aside]
        )
        directory.removeSalvage()
        let report: Salvage.Report
        do throws(SQLiteError) {
            report = try save(from: aside)
        } catch {
            directory.removeSalvage()
            directory.unlinkAside(aside)
            throw QueueError(error, path: directory.salvage)
        }
        try directory.replaceDamaged()
        counts.salvages += 1
        counts.salvagedLogs += Int(report.savedLogs)
        counts.lostLogs += Int(report.lostLogs)
        journal.error(
            "queue database was rebuilt from what could be read",
            [
                "saved_logs": report.savedLogs,
                "lost_logs": report.lostLogs,
                "reason": report.isCutShort ? "the disk had no room for all" : "damage",
                "kept": aside,
            ]
        )
        if report.isAccountLost {
            journal.warning(
                "how many logs were lost is not known: the ledger could not be read",
                ["remedy": "look up what sluice_logs_queued and sluice_logs_dead were last"]
            )
        }
        if report.decisionsAreLost {
            journal.warning(
                "what was decided at run time is lost, and all is as the configuration says",
                ["remedy": "look for 'changed by an operator' in the journal, and decide it again"]
            )
        }
        if report.repeatsAreLost {
            journal.warning(
                "some requests are no longer remembered: one that a device repeats may be stored twice"
            )
        }
    }

    private func save(from aside: String) throws(SQLiteError) -> Salvage.Report {
        let (connection, _) = try OpenStore.connect(directory.salvage, configuration)
        let saved = try QueueDatabase(connection, path: directory.salvage)
        var report = Salvage.Report()
        // Damage can be such that the file does not even open; then there is nothing to save.
        if let damaged = try? Connection(aside, .readWrite),
            var salvage = try? Salvage(
                from: damaged,
                in: DamagedFile(aside),
                into: saved,
                configuration,
                acknowledged: Set(acknowledged)
            )
        {
            report = try salvage.run()
        }
        try connection.finish()
        directory.removeIndex(of: aside)
        return report
    }
}

import System

extension QueueOwner {
    /// What nobody waits for: it runs after the answers.
    func keepHouse() {
        reopen()
        guard let store else { return }
        let time = Moment.now
        let isDue = nextHousekeeping <= time
        if isDue {
            nextHousekeeping = time + configuration.tuning.housekeeping
            disk.refresh(time)
        }
        do throws(SQLiteError) {
            if store.logBytes >= configuration.tuning.checkpointBytes {
                try store.database.connection.checkpoint(.passive)
                counts.checkpoints += 1
            }
            guard isDue else { return }
            for (destination, logs) in try store.expire() {
                journal.warning(
                    "logs expired: they waited longer than max_age",
                    ["destination": destination, "logs": logs]
                )
            }
            try store.giveBack()
            try store.commit()
            oldest = store.oldestByDestination()
            publish()
        } catch {
            failed(error)
        }
    }
}

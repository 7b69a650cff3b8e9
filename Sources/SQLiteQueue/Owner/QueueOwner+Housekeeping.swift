import SQLite
import System

extension QueueOwner {
    /// What nobody waits for: it runs after the answers.
    func keepHouse(isQuiet: Bool) {
        reopen()
        guard let store else { return }
        do throws(SQLiteError) {
            let time = Moment.now
            if nextHousekeeping <= time {
                nextHousekeeping = time + configuration.tuning.housekeeping
                try lookAround(store, time)
                if try saveMore(store) { return }
            } else if store.rows == 0, !store.remainders.isEmpty, try saveMore(store) {
                return
            } else if store.isExpiring {
                try expireSome(in: store)
                publish()
            } else if isQuiet, store.hasSpareSpace {
                try measureRoom(store)
                try store.giveBack(atMost: movableBytes)
                try store.commit()
                publish()
            }
            // While space is scarce the log is kept short: then its space can be written again.
            let most = configuration.tuning.checkpointBytes
            if store.logBytes >= (roomBytes < .max ? most / 8 : most) {
                try checkpoint(store)
                publish()
            }
        } catch {
            failed(error)
        }
    }

    /// Once in a while: free space, age, spare pages, the status that walks all streams.
    private func lookAround(_ store: OpenStore, _ time: Moment) throws(SQLiteError) {
        let wasIdle = counts.commits == commitsBefore
        try store.makeLogCertain()
        try measureRoom(store)
        // Logs that devices keep need the room more than whoever looks for the cause of a damage.
        if store.isLogCertain, roomBytes < configuration.tuning.rowBytes {
            trimDamagedCopies(to: 0, atMost: 1)
        }
        let step = clock.follow()
        if step != .zero { try follow(step, in: store) }
        try store.forgetRepeats()
        try store.giveBack(atMost: movableBytes)
        if !store.isExpiring {
            store.lookForExpired()
            store.hasExpiredLetters = true
        }
        try expireSome(in: store)
        announceChanges(in: store)
        announceDropped()
        announceCrowded(in: store)
        store.forgetOldest()
        countRepeats([], in: store)
        announceExpired()
        announceDiscards()
        checkBalance(of: store)
        // With the log empty the next start has nothing to replay, and a shorter file becomes so.
        if wasIdle, store.logBytes > 0 { try checkpoint(store) }
        commitsBefore = counts.commits
        survey = store.survey(demand)
        publish(everything: true)
    }

    private func follow(_ step: Duration, in store: OpenStore) throws(SQLiteError) {
        // Kept also when this transaction fails: nobody will tell of the step again.
        defer { ages = store.ages }
        try store.clockStepped(by: step)
    }

    private func checkpoint(_ store: OpenStore) throws(SQLiteError) {
        try store.database.connection.checkpoint(.passive)
        counts.checkpoints += 1
    }
}

import Queue
import SQLite
import System

// One transaction for all waiting work, and the answers to it.
extension QueueOwner {
    func turn() {
        guard let store else { return refuseAll(handle.admission) }
        keeper.turnBegins()
        var taken: [(append: Append, outcome: AppendOutcome)] = []
        let tallies = handle.takeTallies()
        do throws(SQLiteError) {
            try delivery.applyReturns(to: store, configuration, keeper.room)
            // What another shard absorbs must not change any more.
            if store.absorptions.cededTo != nil { letters.refuse(.stopping) }
            try letters.takeStep(in: store, room: keeper.room.bytes)
            try decisions.decide(in: store)
            try delivery.returns.changeLanes(in: store)
            try store.tally.add(tallies)
            try take(&taken, into: store)
            let rows = try store.intake.writeStaged()
            try store.overflow.makeRoom(rowsAdded: rows)
            // Now the store knows all that this transaction adds to the queue.
            try shardWork.takeStep(in: store, room: keeper.room.bytes)
            let sealed = try delivery.seal(in: store)
            try commit(store, requests: taken.count, rows: rows)
            precondition(!store.database.isWriting, "answers would come before the commit")
            delivery.settle(sealed, in: store)
            settleLosses()
            countLeftOut(in: store)
            board.countRepeats(taken.count { $0.outcome.isRepeated }, in: store)
            delivery.outlets.announceChanges(in: store)
            publish()
            letters.answer()
            decisions.answer()
            if shardWork.isUnderWay {
                handle.absorptionState.withLock { $0 = store.absorptions.state }
                shardWork.settle()
            }
            answer(taken)
            // After the answers, which must not wait, and before delivery tells of attempts with
            // these.
            store.context.tellEnded()
            delivery.handOver(sealed)
        } catch {
            failed(error)
            handle.count(tallies)
            // At once: the next turn may find the store open again and would not know these
            // requests.
            letters.refuse(handle.admission)
            decisions.refuse(handle.admission)
            shardWork.refuse()
            // Nothing of this transaction is certainly stored, so nothing of it is acknowledged.
            answer(taken.map { ($0.append, .refused(handle.admission)) })
        }
    }

    private func take(
        _ taken: inout [(append: Append, outcome: AppendOutcome)],
        into store: OpenStore
    ) throws(SQLiteError) {
        let most = configuration.tuning.transactionBytes
        let room = keeper.room
        var rawBytes = 0
        // The room already excludes the isolations of this transaction.
        if !appends.isEmpty, !delivery.isolations.hasUsedRoom {
            try room.measure(store, configuration)
        }
        let hasLogRoom = !keeper.isCommitLogNearlyFull
        taken.reserveCapacity(appends.count)
        while rawBytes < most, let append = appends.popFirst() {
            // The append enters the list first, so that it gets an answer even if staging fails.
            taken.append((append, .stored))
            let fits = hasLogRoom && rawBytes + append.rawBytes <= room.bytes
            let outcome = try stage(append, fits: fits, in: store)
            taken[taken.count - 1].outcome = outcome
            if outcome == .stored { rawBytes += append.rawBytes }
        }
    }

    private func stage(
        _ append: Append,
        fits: Bool,
        in store: OpenStore
    ) throws(SQLiteError) -> AppendOutcome {
        // A repeated request is done, even without room.
        let request = append.request
        if let identity = request.identity, let first = try store.repeats.first(of: identity) {
            return .repeated(receipt: first.receipt, logs: first.logs)
        }
        if let refusal = append.refusal ?? (fits ? nil : .diskFull) { return .refused(refusal) }
        if let refusal = try store.intake.stage(append.batches, by: .sender(request.sender)) {
            note(refusal, of: append)
            return .refused(refusal)
        }
        if let identity = request.identity {
            let destination = append.batches.first?.stream.destination ?? ""
            let owner = RepeatOwner(sender: request.sender, destination: destination)
            try store.repeats.remember(identity, of: owner)
        }
        try store.tally.add(request.tally)
        return .stored
    }

    private func note(_ refusal: QueueAdmission, of append: Append) {
        if refusal == .tooManyLogstores {
            for batch in append.batches { handle.crowded(batch.stream.destination) }
        }
        guard board.count(streamRefusal: refusal) else { return }
        announcer.announceShortage(refusal, append, streamsMax: configuration.streamsMax)
    }

    private func commit(_ store: OpenStore, requests: Int, rows: Int) throws(SQLiteError) {
        guard store.database.isWriting else { return }
        let start = Moment.now
        try store.commit()
        let end = Moment.now
        schedule.linger.committed(requests: requests, took: end - start, at: end)
        let reason = requests > 0 ? schedule.commitReason : .otherWork
        board.committed(in: end - start, because: reason, requests: requests, rows: rows)
        keeper.recovered()
    }

    private func settleLosses() {
        board.lostLogs += delivery.losses.settle(&announcer, journal)
    }

    /// Called after a commit: logs that made room for others, or found none, are gone for good.
    private func countLeftOut(in store: OpenStore) {
        announcer.note(skipped: store.intake.takeSkipped())
        let dropped = store.overflow.takeDropped()
        board.count(dropped: dropped)
        announcer.note(dropped: dropped)
    }

    private func answer(_ requests: [(append: Append, outcome: AppendOutcome)]) {
        var answers = GatheredAnswers()
        for (append, outcome) in requests {
            handle.settled(append.rawBytes)
            answers.add(outcome, to: append.request)
        }
        answers.give()
    }

    private func refuseAll(_ reason: QueueAdmission) {
        var refused: [(append: Append, outcome: AppendOutcome)] = []
        while let append = appends.popFirst() {
            refused.append((append, .refused(append.refusal ?? reason)))
        }
        answer(refused)
        letters.refuse(reason)
        decisions.refuse(reason)
        shardWork.refuse()
        delivery.isolations.pause()
    }
}

// MARK: - Housekeeping

extension QueueOwner {
    /// Work that no answer waits for. It runs after the answers.
    func doHousekeeping(isQuiet: Bool) {
        reopen()
        guard let store, store.absorptions.cededTo == nil else { return }
        do throws(SQLiteError) {
            let tuning = configuration.tuning
            if schedule.startHousekeeping(every: tuning.housekeeping) {
                try lookAround(store)
                keeper.shardLog?.notePosition(keeper.directory)
                if try saveMore(store) { return }
            } else if store.weight.rows == 0, !store.acknowledgements.remainders.isEmpty,
                try saveMore(store)
            {
                return
            } else if store.expiry.isUnderWay {
                try expireSome(in: store)
                publish()
            } else if isQuiet, store.files.hasSpareSpace {
                try keeper.room.measure(store, configuration)
                try store.files.giveBack(atMost: keeper.room.movableBytes)
                try store.commit()
                publish()
            }
            if isLogLong(store) {
                try checkpoint(store)
                publish()
            }
            try keeper.workOnBase(store)
        } catch {
            failed(error)
        }
    }

    /// Looks now and then at free space, ages and spare pages, and surveys all streams.
    private func lookAround(_ store: OpenStore) throws(SQLiteError) {
        let wasIdle = board.takeIdle()
        let room = keeper.room
        try store.files.makeLogCertain()
        try room.measure(store, configuration)
        // Devices' logs need the room more than copies that help to find the cause of damage.
        if store.files.isLogCertain, room.isUsedUp(configuration.tuning) {
            keeper.salvager.copies.trim(to: 0, atMost: 1, beside: store)
        }
        let step = clock.follow()
        if step != .zero { try keeper.follow(step, in: store) }
        try store.repeats.forget()
        try store.files.giveBack(atMost: room.movableBytes)
        if !store.expiry.isUnderWay {
            store.expiry.look()
            store.letters.hasExpired = true
        }
        try expireSome(in: store)
        delivery.outlets.announceChanges(in: store)
        for name in handle.takeCrowded() {
            if let destination = store.destinations[name] { announcer.announceCrowded(destination) }
        }
        store.overflow.releaseUnusedLists()
        board.countRepeats(0, in: store)
        announcer.announceExpired()
        announcer.announceSkipped()
        delivery.discards.announce()
        board.ledgerImbalances += announcer.announce(store.imbalances())
        // With an empty log the next start has nothing to replay, and the file becomes shorter.
        if wasIdle, store.files.logBytes > 0 { try checkpoint(store) }
        board.survey = store.survey(delivery.outlets.demand)
        publish(everything: true)
    }

    private func expireSome(in store: OpenStore) throws(SQLiteError) {
        try delivery.expireSome(in: store)
        settleLosses()
        store.context.tellEnded()
    }

    /// True: it is time to move the log into the database.
    private func isLogLong(_ store: OpenStore) -> Bool {
        let (tuning, bytes) = (configuration.tuning, store.files.logBytes)
        // While space is scarce the log stays short, so that its space can be written again.
        if keeper.room.isScarce { return bytes >= tuning.checkpointBytes / 8 }
        guard bytes >= tuning.checkpointBytes else { return false }
        // Without a sync for each commit, a power cut loses the log.
        guard configuration.durability == .full else { return true }
        let waiting = store.destinations.all.reduce(0) { $0 + $1.bytes - $1.deadBytes }
        return waiting >= tuning.checkpointBytes || bytes >= tuning.longLogBytes
    }

    private func checkpoint(_ store: OpenStore) throws(SQLiteError) {
        try store.database.connection.checkpoint(.passive)
        board.checkpoints += 1
    }
}

extension AppendOutcome {
    fileprivate var isRepeated: Bool {
        if case .repeated = self { true } else { false }
    }
}

import Queue
import SQLite
import System

extension QueueOwner {
    /// One transaction for what waits, and the answers to it.
    func turn() {
        guard let store else { return refuseAll(door.admission) }
        isBehind = false
        var taken: [(append: Append, outcome: AppendOutcome)] = []
        do throws(SQLiteError) {
            try acknowledgeAll(in: store)
            for number in unreadable { try takeBack(number, in: store) }
            for number in recalled { try handOverAgain(number, in: store) }
            try takeDepartures(in: store)
            try changeLetters(in: store)
            try decide(in: store)
            try relane(in: store)
            try take(&taken, into: store)
            try store.makeRoom(rowsAdded: store.writeStaged())
            for name in flushes { store.flush(name) }
            let sealed = receiver == nil ? [] : try store.packets(for: demand)
            try commit(store)
            settleRelanes()
            settle(sealed, in: store)
            countDropped(in: store)
            countRepeats(taken, in: store)
            announceChanges(in: store)
            publish()
            answerLetters()
            answerDecisions()
            for (append, outcome) in taken { answer(append, outcome) }
            if !sealed.isEmpty { receiver?(sealed) }
        } catch {
            failed(error)
            // At once: the next turn may find the store open again, and would not know of them.
            refuseLetters(door.admission)
            refuseDecisions(door.admission)
            // Nothing of this transaction is stored for certain, so nothing of it is acknowledged.
            for (append, _) in taken { answer(append, .refused(door.admission)) }
        }
    }

    private func acknowledgeAll(in store: OpenStore) throws(SQLiteError) {
        for number in acknowledged {
            try store.acknowledge(number, at: place(of: number)) { handed[$0] != nil }
        }
    }

    /// Where the rows of a packet lie that delivery holds, or held before a salvage took it apart.
    func place(of number: Int64) -> PacketPlace? { handed[number]?.place ?? takenApart[number] }

    /// Stages appends in order, a bounded number of bytes.
    private func take(
        _ taken: inout [(append: Append, outcome: AppendOutcome)],
        into store: OpenStore
    ) throws(SQLiteError) {
        var rawBytes = 0
        // What was isolated in this transaction is taken from the room already.
        if !appends.isEmpty, departures.isolated.isEmpty { try measureRoom(store) }
        while rawBytes < configuration.tuning.transactionBytes, let append = appends.popFirst() {
            // Listed before it is looked at, so that it gets an answer also when that fails.
            taken.append((append, .stored))
            let fits = rawBytes + append.rawBytes <= roomBytes
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
        // Whoever repeats a request is done, also when there is no room.
        if let repetition = try repetition(of: append, in: store) { return repetition }
        if let refusal = append.refusal ?? (fits ? nil : .diskFull) { return .refused(refusal) }
        if let refusal = try store.stage(append.batches, by: .sender(append.sender)) {
            if refusal == .tooManyLogstores { noteCrowded(append) }
            noteShortage(refusal, append)
            return .refused(refusal)
        }
        if let identity = append.identity {
            let destination = append.batches.first?.stream.destination ?? ""
            let owner = RepeatOwner(sender: append.sender, destination: destination)
            try store.remember(identity, of: owner)
        }
        return .stored
    }

    func mend(_ number: Int64, in store: OpenStore) throws(SQLiteError) {
        let lost = try store.mend(number)
        if lost > 0 { losses.damaged.append((number, lost)) }
    }

    private func commit(_ store: OpenStore) throws(SQLiteError) {
        guard store.database.isWriting else { return }
        let start = Moment.now
        try store.commit()
        lastCommit = .now
        counts.commits += 1
        counts.commitTime += lastCommit - start
        counts.commitTimeMax = max(counts.commitTimeMax, lastCommit - start)
        recovered()
    }

    /// The transaction is durable: what was asked for is done.
    private func settle(_ sealed: [SealedPacket], in store: OpenStore) {
        takenBack(acknowledged)
        takenBack(unreadable)
        takenBack(recalled)
        acknowledged.removeAll(keepingCapacity: true)
        unreadable.removeAll(keepingCapacity: true)
        recalled.removeAll(keepingCapacity: true)
        flushes.removeAll(keepingCapacity: true)
        settleDepartures()
        settleLosses()
        for packet in sealed {
            handed[packet.number] = HandedPacket(packet)
            demand.meet(packet.stream.outlet)
            // A packet that was sealed before changes nothing else of its destination.
            store.destinations[packet.stream.destination]?.note()
        }
    }

    /// Delivery holds them no more.
    func takenBack(_ numbers: some Sequence<Int64>) {
        for number in numbers {
            handed[number] = nil
            takenApart[number] = nil
        }
        door.recalls.remove(numbers)
    }

    func answer(_ append: Append, _ outcome: AppendOutcome) {
        door.settled(append.rawBytes)
        append.answer(outcome)
    }

    private func refuseAll(_ reason: QueueAdmission) {
        while let append = appends.popFirst() { answer(append, .refused(append.refusal ?? reason)) }
        refuseLetters(reason)
        refuseDecisions(reason)
        departures.hasMore = false
    }
}

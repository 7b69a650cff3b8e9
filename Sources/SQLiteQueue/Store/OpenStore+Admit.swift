import Logs
import Queue
import System

// What is said before a body is read and what is answered to the batch rest on the same sums.
extension OpenStore {
    /// Reserves room for all of the batches, or says why there is none. What is reserved is the most they
    /// can need; what they do need is known when they are rows.
    func reserve(
        _ batches: [Batch],
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) -> QueueAdmission? {
        // Of the streams that the batches wake: taken here only to find places for all of them.
        var newStreams: [String] = []
        defer { for destination in newStreams { shares.giveBack(destination, maker) } }
        var shortage: QueueAdmission?
        var newStreamBytes = 0
        var newOutlets: Set<Outlet> = []
        for (index, batch) in batches.enumerated() where batch.takesRoom {
            let known = taker(of: batch.stream, by: maker, time)
            let destination = known?.destination ?? destination(batch.stream.destination)
            if batch.logs.count > 0, known?.isBusy != true {
                shortage = refusal(destination.name, streamBy: maker)
                shares.take(destination.name, maker)
                newStreams.append(destination.name)
                newStreamBytes += batch.stream.cost
                if !destination.logstores.busy.contains(batch.stream.logstore) {
                    newOutlets.insert(batch.stream.outlet)
                }
            }
            reserve(most(batch) + Self.mostDead(batch), destination)
            let refusal =
                shortage
                ?? refusal(destination, outlets: newOutlets)
                ?? refusal(destination, more: newStreamBytes, margins: false)
            if let refusal {
                for batch in batches[...index] where batch.takesRoom {
                    let most = most(batch) + Self.mostDead(batch)
                    reserve(-most, self.destination(batch.stream.destination))
                }
                return refusal
            }
        }
        return nil
    }

    /// Incompressible logs grow by less than a row's overhead.
    private func most(_ batch: Batch) -> Int {
        guard batch.logs.count > 0 else { return 0 }
        return batch.logs.bytes.count + (mostRows(batch) + 1) * RowRecord.overhead
    }

    /// A row ends where it has as many logs as a packet may, or where the next log would exceed its bytes: then it and
    /// the row behind it have more than one may.
    private func mostRows(_ batch: Batch) -> Int {
        let limits = configuration.rules(batch.stream.destination).packet
        let bytes = max(1, min(configuration.tuning.rowBytes, limits.rawBytes))
        let ends = 2 * batch.logs.bytes.count / bytes + batch.logs.count / max(1, limits.logs)
        return min(1 + ends, batch.logs.count)
    }

    /// These are written at once, and then weigh what they do.
    static func mostDead(_ batch: Batch) -> Int {
        batch.dead.reduce(0) { sum, dead in
            let each = DeadRecord.overhead(of: batch.stream, dead.reason)
            return sum + dead.logs.bytes.count + dead.logs.count * each
        }
    }

    func reserve(_ more: Int, _ destination: QueuedDestination) {
        stagedBytes += more
        destination.stagedBytes += more
    }

    private func refusal(
        _ destination: String,
        streamBy maker: StreamShares.Maker
    ) -> QueueAdmission? {
        switch shares.shortage(destination, maker) {
        case .queue: .tooManyStreams
        case .destination: .tooManyStreamsOfDestination
        case .sender: .tooManyStreamsOfSender
        case nil: nil
        }
    }

    private func refusal(
        _ destination: QueuedDestination,
        outlets: Set<Outlet>
    ) -> QueueAdmission? {
        guard !outlets.isEmpty else { return nil }
        let new = outlets.filter { $0.destination == destination.name }.map(\.logstore)
        return new.isEmpty || destination.hasPlaces(for: Set(new)) ? nil : .tooManyLogstores
    }

    /// Where the oldest logs make room, all that wait could: they are dropped once it is known how many must.
    func refusal(
        _ destination: QueuedDestination,
        more: Int,
        margins: Bool
    ) -> QueueAdmission? {
        if isFull(destination, more: more, margins: margins) { return .destinationFull }
        let most = configuration.bytesMax
        let all = bytes + stagedBytes + more + (margins ? margin(most) : 0)
        guard all > most else { return nil }
        let makesRoom = destination.rules.overflow == .dropOldest
        return makesRoom && all - droppableBytes <= most ? nil : .full
    }

    private func isFull(_ destination: QueuedDestination, more: Int, margins: Bool) -> Bool {
        guard let most = destination.rules.bytesMax else { return false }
        let makesRoom = destination.rules.overflow == .dropOldest
        let droppable = makesRoom ? destination.waitingBytes : 0
        let own = destination.bytes + destination.stagedBytes + more - droppable
        return own + (margins ? margin(most) : 0) > most
    }

    /// A little before a bound, where only small batches would still fit, none is asked for any more.
    private func margin(_ bound: Int) -> Int {
        min(configuration.tuning.rowBytes, bound / 16)
    }

    /// Whether batches should be sent whose destination is not known.
    var admission: QueueAdmission {
        bytes + margin(configuration.bytesMax) > configuration.bytesMax ? .full : .open
    }

    /// The same of destinations whose oldest logs make room.
    var admissionWhereRoomIsMade: QueueAdmission {
        let most = configuration.bytesMax
        return bytes + margin(most) - droppableBytes > most ? admission : .open
    }

    /// What is said to the destination's batches, but for the sake of the queue as a whole.
    func admission(of destination: QueuedDestination) -> DestinationAdmission {
        let isAmple = destination.hasAmplePlaces
        return DestinationAdmission(
            isFull: isFull(destination, more: 0, margins: true),
            makesRoom: destination.rules.overflow == .dropOldest,
            logstores: isAmple ? nil : destination.publishedLogstores,
            arePlacesOpen: isAmple || destination.logstores.isOpen
        )
    }
}

extension Batch {
    fileprivate var takesRoom: Bool { logs.count > 0 || !dead.isEmpty }
}

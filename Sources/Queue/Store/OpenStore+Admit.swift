import Logs
import System

// What is said before a body is read and what is answered to the batch rest on the same sums.
extension OpenStore {
    /// Reserves room for all of the batches, or says why there is none. What is reserved is the most they
    /// can need; what they do need is known when they are rows.
    func reserve(_ batches: [Batch], _ time: WallTime) -> QueueAdmission? {
        var newStreams = 0
        var newStreamBytes = 0
        var newOutlets: Set<Outlet> = []
        for (index, batch) in batches.enumerated() where batch.takesRoom {
            let known = taker(of: batch.stream, time)
            let destination = known?.destination ?? destination(batch.stream.destination)
            if batch.logs.count > 0, known?.isBusy != true {
                newStreams += 1
                newStreamBytes += batch.stream.cost
                if !destination.busyLogstores.contains(batch.stream.logstore) {
                    newOutlets.insert(batch.stream.outlet)
                }
            }
            reserve(most(batch) + Self.mostDead(batch), destination)
            let refusal =
                refusal(streams: newStreams)
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
        return batch.logs.bytes.count + (mostRows(batch) + 1) * Self.rowOverhead
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

    private func refusal(streams more: Int) -> QueueAdmission? {
        more == 0 || busyStreams + more <= configuration.streamsMax ? nil : .full
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
        let makesRoom = destination.rules.overflow == .dropOldest
        if let most = destination.rules.bytesMax {
            let droppable = makesRoom ? destination.waitingBytes : 0
            let own = destination.bytes + destination.stagedBytes + more - droppable
            if own + (margins ? margin(most) : 0) > most { return .destinationFull }
        }
        let most = configuration.bytesMax
        let all = bytes + stagedBytes + more + (margins ? margin(most) : 0)
        guard all > most else { return nil }
        return makesRoom && all - droppableBytes <= most ? nil : .full
    }

    /// A little before a bound, where only small batches would still fit, none is asked for any more.
    private func margin(_ bound: Int) -> Int {
        min(configuration.tuning.rowBytes, bound / 16)
    }

    /// Whether batches should be sent whose destination is not known.
    var admission: QueueAdmission {
        bytes + margin(configuration.bytesMax) > configuration.bytesMax ? .full : .open
    }

    func admission(of destination: QueuedDestination) -> DestinationAdmission {
        DestinationAdmission(
            bytes: refusal(destination, more: 0, margins: true) ?? .open,
            places: destination.hasAmplePlaces ? nil : destination.places
        )
    }
}

extension Batch {
    fileprivate var takesRoom: Bool { logs.count > 0 || !dead.isEmpty }
}

import Queue
import SQLite
import System

/// What the queue and its destinations weigh, and what their bounds leave.
///
/// What is said before a body is read and what is answered to the batch rest on the same sums.
final class QueueWeight: StorePart {
    let context: StoreContext
    /// What the queue's bound counts: rows and dead letters with their overhead, and the streams that are not empty.
    private(set) var bytes = 0
    private(set) var rows = 0
    /// What could be dropped for the queue's bound: rows that wait where the oldest make room.
    private(set) var droppableBytes = 0
    /// What batches of the transaction at hand can need at most.
    private var stagedBytes = 0

    init(_ context: StoreContext) {
        self.context = context
    }

    // MARK: - Counting

    /// Counts what came, or with negative numbers left, in the bounds of the queue and of the destination.
    /// Whatever has a row of its own weighs its payload and `RowRecord.overhead`.
    func weigh(_ destination: QueuedDestination, bytes more: Int, rows moreRows: Int = 0) {
        bytes += more
        rows += moreRows
        destination.bytes += more
    }

    /// Waiting rows came, or left because they expired: these an overflow could drop.
    func weighWaiting(_ destination: QueuedDestination, bytes more: Int, rows moreRows: Int) {
        weigh(destination, bytes: more, rows: moreRows)
        changeWaiting(destination, by: more)
    }

    func changeWaiting(_ destination: QueuedDestination, by more: Int) {
        destination.waitingBytes += more
        if destination.rules.overflow == .dropOldest { droppableBytes += more }
    }

    /// Batches of the transaction at hand can need so much more, or with a negative number less.
    func reserve(_ more: Int, _ destination: QueuedDestination) {
        stagedBytes += more
        destination.stagedBytes += more
    }

    /// What was reserved is counted as rows now.
    func settleReserved(_ changed: [QueuedDestination]) {
        stagedBytes = 0
        for destination in changed { destination.stagedBytes = 0 }
    }

    /// The rules have changed: what of the waiting rows could be dropped.
    func recountDroppable(_ destinations: some Sequence<QueuedDestination>) {
        droppableBytes = destinations.reduce(0) { sum, destination in
            destination.rules.overflow == .dropOldest ? sum + destination.waitingBytes : sum
        }
    }

    /// Each is plausible, and so must be their sum.
    func check() throws(SQLiteError) {
        guard Plausible.counts.contains(Int64(bytes)) else {
            throw .damage("rows cannot have \(bytes) bytes")
        }
    }

    // MARK: - Bounds

    /// Bytes by which logs may grow by dying: a little more than the bounds, since what dies leaves the queue for
    /// it. Where the oldest logs make room for others they do so here too. With nothing left to drop the same
    /// little is allowed: else a destination whose refused packets are all that it has would never go on.
    func roomForDeaths(of destination: QueuedDestination) -> Int {
        func room(_ most: Int, _ bytes: Int, droppable: Int) -> Int {
            most - bytes + max(most / 8, droppable)
        }
        let dropsOldest = destination.rules.overflow == .dropOldest
        let all = room(
            configuration.bytesMax,
            bytes,
            droppable: dropsOldest ? droppableBytes : 0
        )
        guard let most = destination.rules.bytesMax else { return all }
        let droppable = dropsOldest ? destination.waitingBytes : 0
        return min(all, room(most, destination.bytes, droppable: droppable))
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

    /// By how much the queue's bound is exceeded, where dropping what can be dropped would help. Else nil.
    var droppableExcess: Int? {
        let most = configuration.bytesMax
        return bytes > most && bytes - droppableBytes <= most ? bytes - most : nil
    }

    /// The answer to batches whose destination is not known.
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

import Queue
import SQLite

/// The weight of the queue and its destinations, and the room that their bounds leave. The
/// admission before a body is read and the answer to the batch use the same sums.
final class QueueWeight: StorePart {
    let context: StoreContext
    /// Bytes in the queue's bound: rows and letters with their overhead, and streams with content.
    private(set) var bytes = 0
    private(set) var rows = 0
    /// Waiting rows that may be dropped for the queue's bound, because their destination allows it.
    private(set) var droppableBytes = 0
    /// The most that batches of the current transaction can need.
    private var stagedBytes = 0

    init(_ context: StoreContext) {
        self.context = context
    }

    // MARK: - Counting

    /// Counts bytes and rows that came, or with negative numbers left. A row weighs its payload and
    /// `RowRecord.overhead`.
    func weigh(_ destination: QueuedDestination, bytes more: Int, rows moreRows: Int = 0) {
        bytes += more
        rows += moreRows
        destination.bytes += more
    }

    /// Counts waiting rows that came or expired. An overflow could drop these.
    func weighWaiting(_ destination: QueuedDestination, bytes more: Int, rows moreRows: Int) {
        weigh(destination, bytes: more, rows: moreRows)
        changeWaiting(destination, by: more)
    }

    func changeWaiting(_ destination: QueuedDestination, by more: Int) {
        destination.waitingBytes += more
        if destination.rules.overflow == .dropOldest { droppableBytes += more }
    }

    /// Reserves bytes for batches of the current transaction; a negative number releases them.
    func reserve(_ more: Int, _ destination: QueuedDestination) {
        stagedBytes += more
        destination.stagedBytes += more
    }

    /// Releases the reservations: the batches now count as rows.
    func settleReserved(_ changed: [QueuedDestination]) {
        stagedBytes = 0
        for destination in changed { destination.stagedBytes = 0 }
    }

    func recountDroppable(_ destinations: some Sequence<QueuedDestination>) {
        droppableBytes = destinations.reduce(0) { sum, destination in
            destination.rules.overflow == .dropOldest ? sum + destination.waitingBytes : sum
        }
    }

    /// Checks the sum. Each number is plausible, so the sum must be too.
    func check() throws(SQLiteError) {
        guard Plausible.counts.contains(Int64(bytes)) else {
            throw .damage("rows cannot have \(bytes) bytes")
        }
    }

    // MARK: - Bounds

    /// The bytes by which logs may grow when they die: a little more than the bounds, because dead
    /// logs leave the queue. The oldest logs make room here as elsewhere. With nothing left to drop
    /// the excess is allowed, or a destination with only refused packets would never continue.
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

    /// If the oldest logs make room, all waiting logs count as droppable for now.
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

    /// Near a bound only small batches would still fit, so the queue asks for no more batches.
    private func margin(_ bound: Int) -> Int {
        min(configuration.tuning.rowBytes, bound / 16)
    }

    /// The excess over the queue's bound, if dropping can remove it. Else nil.
    var droppableExcess: Int? {
        let most = configuration.bytesMax
        return bytes > most && bytes - droppableBytes <= most ? bytes - most : nil
    }

    /// The answer to batches whose destination is not known.
    var admission: QueueAdmission {
        bytes + margin(configuration.bytesMax) > configuration.bytesMax ? .full : .open
    }

    /// The answer to such batches if their destination's oldest logs make room.
    var admissionWhereRoomIsMade: QueueAdmission {
        let most = configuration.bytesMax
        return bytes + margin(most) - droppableBytes > most ? admission : .open
    }

    /// The destination's answer to its batches, without the queue's own bounds.
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

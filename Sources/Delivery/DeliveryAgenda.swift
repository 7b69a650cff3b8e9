import System

/// Which destinations the delivery thread has to look at: those to which something happened, and those whose time has
/// come. One that has nothing to do is in no list and costs nothing, however often others are answered.
///
/// Destinations share endpoints and quotas. One that is blocked by such a gate stands in that gate's `GateWaiters`, and is
/// noted when a request behind the gate ends. A gate that closes or recovers concerns all who go through it, which is
/// rare: then every destination is looked at once. The same happens once a second while the thread is awake, for what
/// is only shown.
final class DeliveryAgenda {
    /// Unowned: the loop has its destinations for longer.
    private struct Entry {
        unowned let destination: DestinationSender
        var number = 0
    }

    private var noted: [Entry] = []
    private var deadlines = PriorityQueue<Moment, Entry>()
    private var compactAt = 64
    private var everyone = true
    private var nextRound = Moment(nanoseconds: 0)
    static let roundEvery: Duration = .seconds(1)

    /// When there is something to do that no event tells.
    var next: Moment? {
        everyone || !noted.isEmpty ? Moment(nanoseconds: 0) : deadlines.nextKey
    }

    /// Something happened to the destination.
    func note(_ destination: DestinationSender) {
        guard !destination.isNoted else { return }
        destination.isNoted = true
        noted.append(Entry(destination: destination))
    }

    /// Something happened that may concern all.
    func noteEveryone() {
        everyone = true
    }

    /// Those to look at in this turn. What happens to them until `done` belongs to it.
    func take(_ now: Moment, of all: [DestinationSender]) -> [DestinationSender] {
        while let entry = deadlines.takeFirst(upTo: now)?.element {
            // Another deadline may have been planned since.
            guard entry.number == entry.destination.planned else { continue }
            entry.destination.plannedFor = nil
            note(entry.destination)
        }
        defer { noted.removeAll(keepingCapacity: true) }
        guard everyone || nextRound <= now else { return noted.map(\.destination) }
        everyone = false
        nextRound = now + Self.roundEvery
        for destination in all { destination.isNoted = true }
        return all
    }

    /// The destination was looked at, and is again at its deadline if nothing happens before.
    func done(_ destination: DestinationSender, next deadline: Moment?) {
        destination.isNoted = false
        if destination.hasMoreToSettle { note(destination) }
        guard destination.plannedFor != deadline else { return }
        destination.plannedFor = deadline
        destination.planned += 1
        guard let deadline else { return }
        deadlines.add(Entry(destination: destination, number: destination.planned), at: deadline)
        guard deadlines.count > compactAt else { return }
        deadlines.removeAll { $0.number != $0.destination.planned }
        compactAt = 2 * deadlines.count + 64
    }
}

/// Destinations that a gate, which they share with others, keeps from sending.
final class GateWaiters {
    private struct Waiter {
        unowned let destination: DestinationSender
    }

    private var waiters: [ObjectIdentifier: Waiter] = [:]

    func add(_ destination: DestinationSender) {
        waiters[ObjectIdentifier(destination)] = Waiter(destination: destination)
    }

    /// A request behind the gate has ended.
    func wake(_ agenda: DeliveryAgenda) {
        guard !waiters.isEmpty else { return }
        for waiter in waiters.values { agenda.note(waiter.destination) }
        waiters.removeAll(keepingCapacity: true)
    }
}

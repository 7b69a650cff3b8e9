import System

/// Which destinations the delivery thread has to look at: those to which something happened, and
/// those whose deadline has come. A destination with nothing to do is in no list and costs nothing,
/// however often others are answered.
///
/// Destinations share endpoints and quotas. One that is blocked by such a gate stands in that
/// gate's `GateWaiters`, and is due when a request behind the gate ends. A gate that closes or
/// recovers concerns all destinations that use it, which is rare: then every destination is looked
/// at once. The same happens once a second while the thread is awake, for figures that are only
/// shown.
final class DeliveryAgenda {
    fileprivate struct Plan {
        let entry: AgendaEntry
        let number: Int

        /// False when another deadline was planned since.
        var isLatest: Bool { number == entry.plans }
    }

    fileprivate var entries: [AgendaEntry] = []
    fileprivate var due: [AgendaEntry] = []
    private var joined = 0
    private var deadlines = PriorityQueue<Moment, Plan>()
    private var compactAt = 64
    private var everyone = true
    private var nextRound = Moment(nanoseconds: 0)
    static let roundEvery: Duration = .seconds(1)

    func join() -> AgendaEntry {
        let entry = AgendaEntry(joined, self)
        joined += 1
        entries.append(entry)
        return entry
    }

    /// The next deadline; in the past when something has happened already.
    var next: Moment? {
        everyone || !due.isEmpty ? Moment(nanoseconds: 0) : deadlines.nextKey
    }

    /// Something happened that may concern all destinations.
    func markAllDue() {
        everyone = true
    }

    /// The entries to look at in this turn. What happens to them until `done` belongs to it.
    func take(_ now: Moment) -> [AgendaEntry] {
        while let plan = deadlines.takeFirst(upTo: now)?.element {
            guard plan.isLatest else { continue }
            plan.entry.deadline = nil
            plan.entry.markDue()
        }
        defer { due.removeAll(keepingCapacity: true) }
        guard everyone || nextRound <= now else { return due }
        everyone = false
        nextRound = now + Self.roundEvery
        for entry in entries { entry.isDue = true }
        return entries
    }

    fileprivate func plan(_ plan: Plan, at deadline: Moment) {
        deadlines.add(plan, at: deadline)
        guard deadlines.count > compactAt else { return }
        deadlines.removeAll { !$0.isLatest }
        compactAt = 2 * deadlines.count + 64
    }
}

/// A destination's place in the delivery thread's agenda.
final class AgendaEntry {
    /// Counts the entries of an agenda in the order in which they joined it.
    let number: Int
    private unowned let agenda: DeliveryAgenda
    fileprivate var isDue = false
    /// The destination was removed; shared gates may still know the entry.
    private var hasLeft = false
    /// The next look unless something happens before; how often one was planned.
    fileprivate var deadline: Moment?
    fileprivate private(set) var plans = 0

    fileprivate init(_ number: Int, _ agenda: DeliveryAgenda) {
        self.number = number
        self.agenda = agenda
    }

    /// Something happened to the destination: it is looked at in the next turn.
    func markDue() {
        guard !isDue, !hasLeft else { return }
        isDue = true
        agenda.due.append(self)
    }

    func markAllDue() { agenda.markAllDue() }

    /// The destination was removed: it is never due again.
    func leave() {
        hasLeft = true
        // Its planned deadlines are not the latest any more.
        plans += 1
        agenda.entries.removeAll { $0 === self }
        agenda.due.removeAll { $0 === self }
    }

    /// Ends a look: the next one is at the deadline, or in the next turn if there is more to do.
    func done(hasMore: Bool, next deadline: Moment?) {
        isDue = false
        if hasMore { markDue() }
        guard self.deadline != deadline else { return }
        self.deadline = deadline
        plans += 1
        if let deadline { agenda.plan(.init(entry: self, number: plans), at: deadline) }
    }
}

/// Destinations that wait for a gate or for memory that they share with others.
struct GateWaiters {
    private var waiters: [ObjectIdentifier: AgendaEntry] = [:]

    mutating func add(_ entry: AgendaEntry) {
        waiters[ObjectIdentifier(entry)] = entry
    }

    /// A request behind the gate has ended.
    mutating func wake() {
        guard !waiters.isEmpty else { return }
        for waiter in waiters.values { waiter.markDue() }
        waiters.removeAll(keepingCapacity: true)
    }
}

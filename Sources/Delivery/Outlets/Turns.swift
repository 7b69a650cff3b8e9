import System

/// The order in which outlets send. Those with packets stand in line; those whose gate is closed
/// until a known time sleep until then.
///
/// Outlets that probe stand in a line of their own: they have few places, and while these are taken
/// no outlet there has to be looked at. An outlet that leaves a line or wakes early leaves its
/// entry behind, which is skipped; so every verb costs at most the logarithm of how many sleep.
struct Turns {
    private struct Entry {
        let outlet: DeliveryOutlet
        let ticket: Int

        var isLive: Bool { outlet.ticket == ticket }
    }

    private struct Line {
        private var entries: [Entry] = []
        private var head = 0
        private(set) var count = 0

        var first: Entry? {
            mutating get {
                while head < entries.count, !entries[head].isLive { drop() }
                return head < entries.count ? entries[head] : nil
            }
        }

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            count += 1
            if entries.count - head > 2 * count + 64 {
                entries = entries[head...].filter(\.isLive)
                head = 0
            }
        }

        mutating func prepend(_ entry: Entry) {
            if head > 0 {
                head -= 1
                entries[head] = entry
            } else {
                entries.insert(entry, at: 0)
            }
            count += 1
        }

        mutating func removeFirst() {
            count -= 1
            drop()
        }

        /// One of the entries is not live any more.
        mutating func left() { count -= 1 }

        private mutating func drop() {
            head += 1
            guard head > 32, head * 2 > entries.count else { return }
            entries.removeFirst(head)
            head = 0
        }
    }

    private var open = Line()
    private var probing = Line()
    private var sleepers = PriorityQueue<Moment, Entry>()
    private var asleep = 0
    private var tickets = 0

    /// Outlets that have a turn.
    var count: Int { open.count + probing.count }
    /// When the first sleeper wakes.
    var nextWaking: Moment? { asleep > 0 ? sleepers.nextKey : nil }

    /// Gives an outlet a turn, unless it has one or sleeps.
    mutating func enlist(_ outlet: DeliveryOutlet) {
        guard outlet.turn == .none, outlet.line.hasNext else { return }
        let isProbing = outlet.isProbing
        outlet.turn = isProbing ? .inLineToProbe : .inLine
        let entry = Entry(outlet: outlet, ticket: newTicket(outlet))
        if isProbing { probing.append(entry) } else { open.append(entry) }
    }

    /// The outlet whose turn it was. Without `probes` only one that was open when it got it.
    mutating func next(probes: Bool = true) -> DeliveryOutlet? {
        let first = open.first
        let outlet: DeliveryOutlet
        if probes, let probe = probing.first, first.map({ probe.ticket < $0.ticket }) ?? true {
            probing.removeFirst()
            outlet = probe.outlet
        } else {
            guard let first else { return nil }
            open.removeFirst()
            outlet = first.outlet
        }
        outlet.turn = .none
        return outlet
    }

    /// The outlet whose turn it was keeps it.
    mutating func putBack(_ outlet: DeliveryOutlet) {
        let isProbing = outlet.isProbing
        outlet.turn = isProbing ? .inLineToProbe : .inLine
        let entry = Entry(outlet: outlet, ticket: outlet.ticket)
        if isProbing { probing.prepend(entry) } else { open.prepend(entry) }
    }

    /// The outlet can send nothing before that time.
    mutating func sleep(_ outlet: DeliveryOutlet, until moment: Moment) {
        outlet.turn = .asleep
        asleep += 1
        sleepers.add(Entry(outlet: outlet, ticket: newTicket(outlet)), at: moment)
        guard sleepers.count > 2 * asleep + 64 else { return }
        sleepers.removeAll { !$0.isLive }
    }

    /// Something happened to the outlet, so that it may be able to send before its time.
    mutating func wake(_ outlet: DeliveryOutlet) {
        let isProbing = outlet.isProbing
        switch outlet.turn {
        case .asleep:
            asleep -= 1
            leave(outlet)
        case .inLine where isProbing:
            open.left()
            leave(outlet)
        case .inLineToProbe where !isProbing:
            probing.left()
            leave(outlet)
        case .none, .inLine, .inLineToProbe: break
        }
        enlist(outlet)
    }

    /// Wakes the outlets whose time has come.
    mutating func wakeSleepers(_ now: Moment) {
        while let entry = sleepers.takeFirst(upTo: now)?.element {
            guard entry.isLive else { continue }
            let outlet = entry.outlet
            asleep -= 1
            outlet.turn = .none
            if let opening = outlet.gate.nextOpening, opening > now {
                sleep(outlet, until: opening)
            } else {
                enlist(outlet)
            }
        }
    }

    /// Its entry is not live any more.
    private mutating func leave(_ outlet: DeliveryOutlet) {
        outlet.turn = .none
        _ = newTicket(outlet)
    }

    private mutating func newTicket(_ outlet: DeliveryOutlet) -> Int {
        tickets += 1
        outlet.ticket = tickets
        return tickets
    }
}

import System

/// Whose turn it is to send: the outlets of a destination that have packets, each in its turn. Those whose
/// gate is closed until a known time sleep until then. An outlet with nothing to send is in neither
/// list and costs nothing.
struct Turns {
    private var line: [DeliveryOutlet] = []
    private var sleepers: [DeliveryOutlet] = []
    /// When the first sleeper wakes.
    private(set) var nextWaking: Moment?

    var count: Int { line.count }

    /// Gives an outlet a turn, unless it has one or sleeps.
    mutating func enlist(_ outlet: DeliveryOutlet) {
        guard outlet.turn == .none, outlet.leases.hasNext else { return }
        outlet.turn = .inLine
        line.append(outlet)
    }

    /// The outlet whose turn it is; it has none any more.
    mutating func next() -> DeliveryOutlet? {
        guard !line.isEmpty else { return nil }
        let outlet = line.removeFirst()
        outlet.turn = .none
        return outlet
    }

    /// The outlet can send nothing before that time.
    mutating func sleep(_ outlet: DeliveryOutlet, until moment: Moment) {
        outlet.turn = .asleep
        sleepers.append(outlet)
        nextWaking = min(nextWaking ?? moment, moment)
    }

    /// Something happened to the outlet, so that it may be able to send before its time.
    mutating func rouse(_ outlet: DeliveryOutlet) {
        if outlet.turn == .asleep {
            sleepers.removeAll { $0 === outlet }
            outlet.turn = .none
        }
        enlist(outlet)
    }

    /// Wakes those whose time has come.
    mutating func wake(_ now: Moment) {
        guard let nextWaking, nextWaking <= now else { return }
        self.nextWaking = nil
        let asleep = sleepers
        sleepers = []
        for outlet in asleep {
            outlet.turn = .none
            if let opening = outlet.gate.nextOpening, opening > now {
                sleep(outlet, until: opening)
            } else {
                enlist(outlet)
            }
        }
    }
}

import System

/// The paces of a gate: so many requests a second, and so many bytes a second. Each is engaged by
/// the refusals that concern it; one that does not tell what it counts engages both.
struct Pacing: Equatable {
    /// The tickets of a request for both paces.
    struct Ticket: Equatable {
        let requests: Pace.Ticket
        let bytes: Pace.Ticket
    }

    private(set) var requests = Pace()
    private(set) var bytes = Pace()

    var isEngaged: Bool { requests.isEngaged || bytes.isEngaged }

    /// When the next request may go.
    var next: Moment { max(requests.next, bytes.next) }

    /// Requests a second, as far as a pace limits them; nil while both are free.
    func rate(_ now: Moment) -> Double? {
        let ofBytes = bytes.rate(now).map { $0 / max(bytes.usual.units, 1) }
        guard let ofRequests = requests.rate(now) else { return ofBytes }
        return min(ofRequests, ofBytes ?? ofRequests)
    }

    mutating func sent(bytes count: Int, _ now: Moment) -> Ticket {
        Ticket(
            requests: requests.sent(1, now),
            bytes: bytes.sent(Double(max(count, 1)), now)
        )
    }

    mutating func stored(_ ticket: Ticket, bytes count: Int, _ now: Moment) {
        requests.stored(1, ticket.requests, now)
        bytes.stored(Double(max(count, 1)), ticket.bytes, now)
    }

    mutating func refused(_ ticket: Ticket, _ quota: Quota, _ now: Moment, random: Double) {
        if quota != .bytes { requests.refused(ticket.requests, now, random: random) }
        if quota != .requests { bytes.refused(ticket.bytes, now, random: random) }
    }
}

/// The units of a used up quota, as far as the answer tells.
enum Quota: Equatable {
    case requests
    case bytes
    case unknown
}

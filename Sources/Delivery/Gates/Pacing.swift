import System

/// The paces of a gate: so many requests a second, so many bytes a second.
struct Pacing {
    /// What a request holds of both.
    struct Ticket: Equatable {
        let requests: Int
        let bytes: Int
    }

    private(set) var requests = Pace()
    private(set) var bytes = Pace()

    var isEngaged: Bool { requests.isEngaged || bytes.isEngaged }

    /// When the next request may go.
    var next: Moment { max(requests.next, bytes.next) }

    mutating func sent(bytes count: Int, _ now: Moment) -> Ticket {
        Ticket(
            requests: requests.sent(1, now),
            bytes: bytes.sent(Double(count), now)
        )
    }

    mutating func stored(_ ticket: Ticket, bytes count: Int, _ now: Moment) {
        requests.stored(1, ticket.requests, now)
        bytes.stored(Double(count), ticket.bytes, now)
    }

    mutating func refused(_ ticket: Ticket, _ now: Moment) {
        requests.refused(ticket.requests, now)
        bytes.refused(ticket.bytes, now)
    }
}

/// Bounds on the memory that clients make the server hold. Each kind has its own bound, so a flood
/// of one kind leaves room for the others.
struct Budgets: Sendable {
    /// Incomplete heads, heads with incomplete bodies, small requests that wait behind another, and
    /// TLS memory of handshakes and partial records.
    let heads: ByteBudget
    /// Bodies of unanswered requests, and their inflated content.
    let bodies: ByteBudget
    /// The part of `bodies` that large requests waiting for a worker thread may hold: half, so that
    /// small requests always find room.
    let large: ByteBudget
    /// Answers and streams that clients have not read yet.
    let answers: ByteBudget

    init(_ limits: HTTPServer.Limits, within common: Budgets? = nil) {
        heads = ByteBudget(limit: limits.heldHeadBytes, within: common?.heads)
        bodies = ByteBudget(limit: limits.inFlightBodyBytes, within: common?.bodies)
        large = ByteBudget(limit: limits.inFlightBodyBytes / 2, within: common?.large)
        answers = ByteBudget(limit: limits.unsentAnswerBytes, within: common?.answers)
    }
}

/// A connection's share of each budget.
struct Holdings {
    /// Share of the body budget for the body being read.
    var body = 0
    /// Share of the body budget for pipelined requests that wait between turns.
    var waiting = 0
    var head = 0
    var answer = 0
    /// Room for an answer, reserved before the answer was promised.
    var reserved: ByteShare?
}

/// The bounds on what clients make the server hold, each kind by itself: a flood of one leaves room for the others.
struct Budgets: Sendable {
    /// Heads that are not complete, heads whose bodies are not, small requests that wait behind another, and what TLS
    /// holds of handshakes and records under way.
    let heads: ByteBudget
    /// Bodies whose requests have no answer yet, and what was inflated of them.
    let bodies: ByteBudget
    /// The large requests among them that wait for a worker thread: half, so that small ones always find room.
    let large: ByteBudget
    /// Answers and streams that clients have not taken yet.
    let answers: ByteBudget

    init(_ limits: HTTPServer.Limits, within common: Budgets? = nil) {
        heads = ByteBudget(limit: limits.heldHeadBytes, within: common?.heads)
        bodies = ByteBudget(limit: limits.inFlightBodyBytes, within: common?.bodies)
        large = ByteBudget(limit: limits.inFlightBodyBytes / 2, within: common?.large)
        answers = ByteBudget(limit: limits.unsentAnswerBytes, within: common?.answers)
    }
}

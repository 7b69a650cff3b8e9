/// The bounds on what clients make the server hold, each kind by itself: a flood of one leaves room for the others.
struct Budgets: Sendable {
    /// Heads that are not complete, heads whose bodies are not, small requests that wait behind another, and what TLS
    /// holds of handshakes and records under way.
    let heads: ByteBudget
    /// Bodies whose requests have no answer yet, and what was inflated of them.
    let bodies: ByteBudget
    /// Answers and streams that clients have not taken yet.
    let answers: ByteBudget

    init(_ limits: HTTPServer.Limits, within common: Budgets? = nil) {
        heads = ByteBudget(limit: limits.heldHeadBytes, within: common?.heads)
        bodies = ByteBudget(limit: limits.inFlightBodyBytes, within: common?.bodies)
        answers = ByteBudget(limit: limits.unsentAnswerBytes, within: common?.answers)
    }
}

import Net

/// Bytes taken of a budget for as long as this lives, wherever it travels.
final class ByteShare: Sendable {
    let bytes: Int
    private let budget: ByteBudget
    private let neighbourhood: Neighbourhood?

    /// For bytes that were taken already.
    init(taken bytes: Int, of budget: ByteBudget, for neighbourhood: Neighbourhood?) {
        self.bytes = bytes
        self.budget = budget
        self.neighbourhood = neighbourhood
    }

    deinit { budget.giveBack(bytes, of: neighbourhood) }
}

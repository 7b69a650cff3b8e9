import Net

/// Bytes taken from a budget; they go back when the last reference ends.
final class ByteShare: Sendable {
    let bytes: Int
    private let budget: ByteBudget
    private let neighbourhood: Neighbourhood?

    /// For bytes that are taken already.
    init(taken bytes: Int, of budget: ByteBudget, for neighbourhood: Neighbourhood?) {
        self.bytes = bytes
        self.budget = budget
        self.neighbourhood = neighbourhood
    }

    deinit { budget.giveBack(bytes, of: neighbourhood) }
}

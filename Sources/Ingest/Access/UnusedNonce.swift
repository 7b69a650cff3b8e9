import System

/// The nonce of a signed request, not used up yet, since the body may be forged.
struct UnusedNonce: Sendable {
    private let mark: NonceMemory.Mark
    private let end: Int64
    private let share: FairShare
    private let memory: NonceMemory

    init(
        _ signature: RequestSignature,
        window: Duration,
        _ share: FairShare,
        _ memory: NonceMemory
    ) {
        mark = NonceMemory.Mark(signature.name, signature.nonce)
        end = signature.seconds + window.components.seconds
        self.share = share
        self.memory = memory
    }

    /// Called before the body arrives, any number of times.
    func check(now: WallTime) throws(AccessProblem) {
        try Self.pass(memory.check(mark, now: now.seconds, share))
    }

    func use(now: WallTime) throws(AccessProblem) {
        try Self.pass(memory.use(mark, until: end, now: now.seconds, share))
    }

    private static func pass(_ outcome: NonceMemory.Outcome) throws(AccessProblem) {
        switch outcome {
        case .new: break
        case .used: throw .replayed
        case .past: throw .expired
        case .full: throw .tooManyNonces
        }
    }
}

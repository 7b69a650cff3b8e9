import System

/// What a signed request has that no other one has, not used up yet: its body may be another's.
struct OwnNonce: Sendable {
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

    /// To be asked before the body comes, as often as one likes.
    func check(now: WallTime) throws(AccessProblem) {
        try Self.pass(memory.look(mark, now: now.seconds, share))
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

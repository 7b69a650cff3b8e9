import System

/// What a signed request has that no other one has, not used up yet: its body may be another's.
struct OwnNonce: Sendable {
    private let mark: NonceMemory.Mark
    private let end: Int64
    private let max: Int
    private let memory: NonceMemory

    init(_ signature: RequestSignature, _ settings: DeviceSettings.HMAC, _ memory: NonceMemory) {
        mark = NonceMemory.Mark(signature.name, signature.nonce)
        end = signature.seconds + settings.window.components.seconds
        max = settings.noncesMax
        self.memory = memory
    }

    var isUsed: Bool { memory.isUsed(mark) }

    func use(now: WallTime) throws(AccessProblem) {
        switch memory.use(mark, until: end, now: now.seconds, max: max) {
        case .new: break
        case .used: throw .replayed
        case .past: throw .expired
        case .full: throw .tooManyNonces
        }
    }
}

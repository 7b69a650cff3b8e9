import Delivery
import System

/// The host's clock, corrected by what SLS has told about it.
final class NameClock: Sendable {
    private let offsets = Locked<ClockOffsets?>(nil)

    func follow(_ offsets: ClockOffsets) {
        self.offsets.withLock { $0 = offsets }
    }

    var now: WallTime { .now + (offsets.withLock { $0 }?.largest ?? .zero) }
}

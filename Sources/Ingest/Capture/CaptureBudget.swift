import System

/// A byte budget of one capture, or of all. A capture returns its bytes to the common budget when
/// it is released.
final class CaptureBudget: Sendable {
    let bytesMax: Int
    private let common: CaptureBudget?
    private let taken = Locked(0)

    init(bytesMax: Int, within common: CaptureBudget? = nil) {
        self.bytesMax = bytesMax
        self.common = common
    }

    deinit { common?.giveBack(used) }

    var used: Int { taken.withLock { $0 } }

    /// False: there is not so much left, and nothing is taken.
    func take(_ bytes: Int) -> Bool {
        taken.withLock { taken in
            guard bytes <= bytesMax - taken, common?.take(bytes) ?? true else { return false }
            taken += bytes
            return true
        }
    }

    private func giveBack(_ bytes: Int) { taken.withLock { $0 -= bytes } }
}

import System

/// The bytes that a capture may keep. Its records take them, and so does what the records learn later.
final class CaptureBudget: Sendable {
    let bytesMax: Int
    private let taken = Locked(0)

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    var used: Int { taken.withLock { $0 } }

    /// False: there is not so much left, and nothing is taken.
    func take(_ bytes: Int) -> Bool {
        taken.withLock { taken in
            guard bytes <= bytesMax - taken else { return false }
            taken += bytes
            return true
        }
    }
}

/// A bounded buffer for bytes that may hold a secret. It never reallocates, which would leave
/// copies behind, and it wipes itself at the end.
package final class WipedBytes {
    package private(set) var bytes: [UInt8] = []
    package let countMax: Int

    package init(countMax: Int) {
        self.countMax = countMax
        bytes.reserveCapacity(countMax)
    }

    /// Returns false when there is no room.
    package func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= countMax - bytes.count else { return false }
        bytes.append(contentsOf: piece)
        return true
    }

    deinit { wipe(&bytes) }
}

import Crypto

/// Bytes that may hold a secret, of bounded number: no copies are left behind while it grows, and it is
/// wiped at the end.
final class WipedBytes {
    private(set) var bytes: [UInt8] = []
    let countMax: Int

    init(countMax: Int) {
        self.countMax = countMax
        bytes.reserveCapacity(countMax)
    }

    /// Tells whether there was room.
    func append(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard piece.count <= countMax - bytes.count else { return false }
        bytes.append(contentsOf: piece)
        return true
    }

    func removeAll() {
        wipe(&bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    deinit { wipe(&bytes) }
}

import Queue

/// Payloads that were stored a moment ago, so that a packet that is sealed soon need not be read
/// from the disk. Bounded: the oldest leave first, such as those of a destination that asks for
/// nothing.
final class RecentPayloads {
    private let bytesMax: Int
    private var blocks: [Int64: StoredBlock] = [:]
    private var order = Fifo<Int64>()
    private(set) var bytes = 0

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    func keep(_ block: StoredBlock, row: Int64) {
        blocks[row] = block
        order.append(row)
        bytes += block.compressed.count
        while bytes > bytesMax, let oldest = order.popFirst() { remove(oldest) }
        // Rows that were handed over are still in the order. Without this, a waiting row at its
        // front would let it grow for ever.
        if order.count > 2 * blocks.count + 1024 {
            var live = Fifo<Int64>()
            while let row = order.popFirst() {
                if blocks[row] != nil { live.append(row) }
            }
            order = live
        }
    }

    /// Takes the rows' payloads out. Nil unless all of them are here.
    func take(_ rows: [Int64]) -> [StoredBlock]? {
        let taken = rows.compactMap { remove($0) }
        return taken.count == rows.count ? taken : nil
    }

    @discardableResult
    func remove(_ row: Int64) -> StoredBlock? {
        guard let block = blocks.removeValue(forKey: row) else { return nil }
        bytes -= block.compressed.count
        return block
    }
}

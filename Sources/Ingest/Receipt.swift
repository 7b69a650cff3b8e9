import Synchronization
import System

/// Issues receipts: 24 upper-case hexadecimal digits that never repeat, like SLS's request ids.
///
/// One half is random for each life of the process, the other half counts. A receipt is a name, not
/// a secret.
package final class ReceiptMint: Sendable {
    private let prefix: [UInt8]
    private let counter: Atomic<UInt64>

    package init() {
        prefix = Array(hex(randomBytes(6), upper: true).utf8)
        // Starts at a random number, so that the receipts of two new processes look different.
        let start = randomBytes(3).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        counter = Atomic(start)
    }

    package func next() -> [UInt8] {
        let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
        return [UInt8](unsafeUninitializedCapacity: 24) { receipt, count in
            for (place, byte) in prefix.enumerated() {
                receipt.initializeElement(at: place, to: byte)
            }
            for place in 12..<24 {
                let digit = UInt8(truncatingIfNeeded: number >> UInt64(4 * (23 - place))) & 15
                let byte = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10
                receipt.initializeElement(at: place, to: byte)
            }
            count = 24
        }
    }
}

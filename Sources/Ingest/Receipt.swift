import Synchronization
import System

/// Issues receipts: 24 upper-case hexadecimal digits that never repeat, like SLS's request ids.
///
/// One half is random for each life of the process, the other half counts. A receipt is a name, not a secret.
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
        var receipt = prefix
        for shift in stride(from: 44, through: 0, by: -4) {
            receipt.append(Self.digits[Int(number >> UInt64(shift)) & 15])
        }
        return receipt
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}

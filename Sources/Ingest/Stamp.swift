package import HTTP
import SLS
package import System

/// Adds the fields of every answer: the time, then its receipt or a new one. In lower case, since
/// the iOS SDK looks for exactly these names. The receipt is the last field: SDKs in C take the
/// last line that begins with `x-log-` for it.
package struct Stamp {
    private let mint: ReceiptMint
    private var second: Int64 = -1
    private var timeFields: [UInt8] = []

    package init(mint: ReceiptMint) {
        self.mint = mint
    }

    /// Appends to an answer's head, which is complete except for the blank line.
    package mutating func apply(
        to head: inout [UInt8],
        of response: Response,
        now: WallTime = .now
    ) {
        if now.seconds != second {
            second = now.seconds
            timeFields = Array("x-log-time: \(second)\r\ndate: \(now.httpDate)\r\n".utf8)
        }
        head += timeFields
        head += Self.receiptName
        if let receipt = response.receipt { head += receipt.utf8 } else { head += mint.next() }
        head += [0x0d, 0x0a]
    }

    private static let receiptName = Array("x-log-requestid: ".utf8)
}

package import HTTP
import SLS
package import System

/// Adds the fields of every answer: the time, and a receipt unless the answer has one. In lower case, since the iOS
/// SDK looks for exactly these names.
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
        if !response.fields.contains(where: { $0.name == "x-log-requestid" }) {
            head += Self.receiptName
            head += mint.next()
            head += [0x0d, 0x0a]
        }
        if now.seconds != second {
            second = now.seconds
            timeFields = Array("x-log-time: \(second)\r\ndate: \(now.httpDate)\r\n".utf8)
        }
        head += timeFields
    }

    private static let receiptName = Array("x-log-requestid: ".utf8)
}

import SLS
import System

/// The fields that every answer carries: a receipt, unless the answer brought its own, and the true
/// time. Lower case, since the iOS SDK looks the names up as they are here.
struct Stamp {
    private let mint: ReceiptMint
    private var second: Int64 = -1
    private var timeFields: [UInt8] = []

    init(mint: ReceiptMint) {
        self.mint = mint
    }

    /// Appends to an answer's head, of which everything but the blank line is there.
    mutating func apply(to head: inout [UInt8], now: WallTime = .now) {
        if !hasReceipt(head) {
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
    private static let statusLine = Array("HTTP/1.1 ".utf8)

    /// Looks at the lines of this answer only: the bytes may begin with answers before it. No field
    /// name can look like a status line, so the first one from behind is this answer's.
    private func hasReceipt(_ bytes: [UInt8]) -> Bool {
        var lineEnd = bytes.count
        while lineEnd > 0 {
            var start = max(0, lineEnd - 2)
            while start > 0, bytes[start - 1] != 0x0a { start -= 1 }
            let line = bytes[start..<lineEnd]
            if line.starts(with: Self.receiptName) { return true }
            if line.starts(with: Self.statusLine) { return false }
            lineEnd = start
        }
        return false
    }
}

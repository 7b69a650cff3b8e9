import HTTP
import Ingest
import System
import Testing

@Suite struct StampTests {
    private let time = WallTime(seconds: 1_736_843_400)

    private let times = "x-log-time: 1736843400\r\ndate: Tue, 14 Jan 2025 08:30:00 GMT\r\n"

    @Test("An answer without a receipt gets the time, then a new receipt")
    func withoutReceipt() {
        let text = stamped(Response(status: 404))
        #expect(text.hasPrefix(times + "x-log-requestid: "))
        #expect(text.utf8.count == times.utf8.count + "x-log-requestid: \r\n".utf8.count + 24)
    }

    @Test("An answer's own receipt is the only one, and the last field")
    func withReceipt() {
        var response = Response(status: 200)
        response.receipt = "MINE"
        #expect(stamped(response) == times + "x-log-requestid: MINE\r\n")
    }

    private func stamped(_ response: Response) -> String {
        var stamp = Stamp(mint: ReceiptMint())
        var fields: [UInt8] = []
        stamp.apply(to: &fields, of: response, now: time)
        return String(decoding: fields, as: UTF8.self)
    }

    @Test("Receipts are 24 upper-case hexadecimal digits and never repeat")
    func receipts() {
        let mint = ReceiptMint()
        let receipts = (0..<1000).map { _ in String(decoding: mint.next(), as: UTF8.self) }
        #expect(Set(receipts).count == 1000)
        #expect(
            receipts.allSatisfy { receipt in
                receipt.utf8.count == 24 && receipt.allSatisfy { "0123456789ABCDEF".contains($0) }
            }
        )
    }
}

import System
import Testing

@testable import Gateway

@Suite struct StampTests {
    private let time = WallTime(seconds: 1_736_843_400)

    @Test("An answer without a receipt gets one, and the time")
    func withoutReceipt() {
        var stamp = Stamp(mint: ReceiptMint())
        var head = Array("HTTP/1.1 404 Not Found\r\n".utf8)
        stamp.apply(to: &head, now: time)
        let text = String(decoding: head, as: UTF8.self)
        #expect(text.contains("\r\nx-log-requestid: "))
        #expect(text.hasSuffix("x-log-time: 1736843400\r\ndate: Tue, 14 Jan 2025 08:30:00 GMT\r\n"))
    }

    @Test("An answer's own receipt stays the only one, whatever went before it")
    func withReceipt() {
        var stamp = Stamp(mint: ReceiptMint())
        let own = "HTTP/1.1 200 OK\r\nx-log-requestid: MINE\r\ncontent-length: 0\r\n"
        for before in [
            "", "HTTP/1.1 200 OK\r\n\r\nbody", "HTTP/1.1 200 OK\r\nx-log-requestid: A\r\n\r\n",
        ] {
            var head = Array((before + own).utf8)
            stamp.apply(to: &head, now: time)
            let text = String(decoding: head.dropFirst(before.utf8.count), as: UTF8.self)
            #expect(text.ranges(of: "x-log-requestid").count == 1)
        }
    }

    @Test("The receipt of an earlier answer in the same buffer does not count")
    func earlierReceipt() {
        var stamp = Stamp(mint: ReceiptMint())
        var head = Array("HTTP/1.1 200 OK\r\nx-log-requestid: A\r\n\r\nHTTP/1.1 200 OK\r\n".utf8)
        stamp.apply(to: &head, now: time)
        #expect(String(decoding: head, as: UTF8.self).ranges(of: "x-log-requestid").count == 2)
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

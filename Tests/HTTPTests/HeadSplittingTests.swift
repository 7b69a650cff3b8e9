import TestSupport
import Testing

@testable import HTTP

@Suite struct HeadSplittingTests {
    private static let head = Array(
        "\r\nPOST /logs/a?b=c HTTP/1.1\r\nHost: gw\r\nContent-Length: 3\r\nX-Y: z\r\n\r\nabc".utf8
    )

    @Test("A head may be cut between any two reads", arguments: 0...head.count)
    func cutOnce(at cut: Int) {
        let whole = HeadReading.of(Self.head)
        #expect(whole.problem == nil)
        #expect(HeadReading.of(Self.head, cuts: [cut]) == whole)
    }

    @Test("A head may come byte by byte")
    func byteByByte() {
        #expect(HeadReading.of(Self.head, cuts: Array(1..<Self.head.count)) == .of(Self.head))
    }

    @Test("A head is refused equally in any two pieces")
    func refusals() {
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 30
        limits.headBytes = 60
        limits.headFields = 2
        for text in [
            "GET /\(String(repeating: "x", count: 40)) HTTP/1.1\n\r\n",
            "GET / HTTP/1.1\r\nHost: \(String(repeating: "x", count: 60))\n\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\nC: d\r\nE: f\n\r\n", "GET / HTTP/1.1\r\n\n", "\n",
            "\r\n\r\n",
        ] {
            let bytes = Array(text.utf8)
            let whole = HeadReading.of(bytes, limits)
            #expect(whole.problem != nil)
            for cut in 0...bytes.count {
                #expect(HeadReading.of(bytes, cuts: [cut], limits) == whole)
            }
        }
    }

    @Test("Mutated heads never trap, and parse equally in any pieces", arguments: 0..<40)
    func mutations(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 60
        limits.headBytes = 160
        limits.headFields = 6
        let seeds = [
            "GET /a?b HTTP/1.1\r\nHost: a\r\nConnection: close, x\r\n\r\n",
            "POST http://a:1/ HTTP/1.1\r\nHost: a:1\r\nContent-Length: 12\r\n\r\n0123456789ab",
            "POST / HTTP/1.1\r\nHost: [::1]:1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
            "OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\nX:\r\nY: \t\r\n\r\n",
        ].map { Array($0.utf8) }
        for _ in 0..<500 {
            let bytes = seeds.randomElement(using: &random)!.mutated(using: &random)
            let whole = HeadReading.of(bytes, limits)
            let cuts = (0..<3).map { _ in Int.random(in: 0...bytes.count, using: &random) }.sorted()
            #expect(HeadReading.of(bytes, cuts: cuts, limits) == whole, "\(bytes)")
        }
    }
}

import Testing

@testable import HTTPClient

@Suite struct ReceivedResponseTests {
    private let use = ResponseUse(
        headers: ["x-log-requestid", "date", "retry-after"],
        body: .first(16 << 10, max: 256 << 10)
    )

    func receive(_ lines: [String], into answer: inout ReceivedResponse) -> Bool {
        lines.allSatisfy { line in
            Array((line + "\r\n").utf8).withUnsafeBytes { answer.receive(headerLine: $0) }
        }
    }

    @Test("The headers that matter are kept, in lower case and trimmed")
    func headers() {
        var answer = ReceivedResponse(use)
        let lines = [
            "HTTP/1.1 200 OK", "X-Log-RequestID:  ABC ", "Set-Cookie: a=b", "Date:x", "bad",
            "Retry-After: 5",
        ]
        #expect(receive(lines, into: &answer))
        #expect(receive([""], into: &answer))
        #expect(answer.headers.map(\.name) == ["x-log-requestid", "date", "retry-after"])
        #expect(answer.headers.map(\.value) == ["ABC", "x", "5"])
    }

    @Test("A final answer does not inherit from an interim one")
    func interim() {
        var answer = ReceivedResponse(use)
        #expect(receive(["HTTP/1.1 100 Continue", "x-log-requestid: A", ""], into: &answer))
        #expect(receive(["HTTP/1.1 200 OK"], into: &answer))
        #expect(answer.headers.isEmpty)
    }

    @Test(
        "A length that cannot be counted ends the answer, one that can does not",
        arguments: [
            ("18446744073709551616", false), ("9223372036854775808", false), ("-1", false),
            ("+5", false), ("1 2", false), ("5, 5", false), ("0x10", false), ("", false),
            ("0", true), (" 16384 ", true), ("9223372036854775807", true),
        ]
    )
    func length(_ text: String, isTaken: Bool) {
        var answer = ReceivedResponse(use)
        #expect(receive(["HTTP/1.1 200 OK", "Content-Length:\(text)"], into: &answer) == isTaken)
        #expect((answer.refusal == nil) == isTaken)
    }

    @Test("Of two lengths that differ neither counts, and a blank before the colon hides none")
    func lengths() {
        var answer = ReceivedResponse(use)
        let alike = ["HTTP/1.1 200 OK", "Content-Length: 5", "content-length:5"]
        #expect(receive(alike + alike, into: &answer))
        #expect(receive(["HTTP/1.1 200 OK", "Content-Length: 0"], into: &answer))
        #expect(!receive(["Content-Length : 1000"], into: &answer))
    }

    @Test("Heads, values and bodies are bounded")
    func bounds() {
        var answer = ReceivedResponse(use)
        let long = String(repeating: "x", count: ReceivedResponse.valueBytesMax + 1)
        #expect(receive(["HTTP/1.1 200 OK", "date: \(long)"], into: &answer))
        #expect(answer.headers.isEmpty)
        let line = "x: " + String(repeating: "x", count: 1000)
        #expect(!receive(Array(repeating: line, count: 70), into: &answer))

        var goesOn = true
        var pieces = 0
        let piece = [UInt8](repeating: 1, count: 10_000)
        while goesOn {
            goesOn = piece.withUnsafeBytes { answer.receive(body: $0, status: 200) }
            pieces += 1
        }
        #expect(pieces == (256 << 10) / piece.count + 1)
        #expect(answer.body.count == 16 << 10)
    }
}

@Suite struct OutgoingBodyTests {
    func take(_ body: inout OutgoingBody, _ size: Int) -> [UInt8] {
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
            let count = body.take(into: buffer)
            return Array(buffer[..<count])
        }
    }

    @Test("It comes in pieces of any size, and then there is nothing more", arguments: 1...7)
    func pieces(size: Int) {
        let bytes = [UInt8](0..<20)
        var body = OutgoingBody(.plain(bytes))
        var taken: [UInt8] = []
        while true {
            let piece = take(&body, size)
            if piece.isEmpty { break }
            taken += piece
        }
        #expect(taken == bytes)
        #expect(!body.isRepeated)
        #expect(body.count == 20)
    }

    @Test("Pieces go out as one body, again from the beginning too", arguments: 1...7)
    func joined(size: Int) {
        let bytes = [UInt8](0..<20)
        var body = OutgoingBody(.pieces([[], bytes[..<3], [], bytes[3..<4], bytes[4...], []]))
        #expect(body.count == 20)
        for _ in 0..<2 {
            var taken: [UInt8] = []
            while true {
                let piece = take(&body, size)
                if piece.isEmpty { break }
                #expect(piece.count == min(size, 20 - taken.count))
                taken += piece
            }
            #expect(taken == bytes)
            body.rewind()
            #expect(body.isRepeated)
        }
    }

    @Test("Going back to the beginning is a repetition only when something was sent")
    func rewind() {
        var body = OutgoingBody(.plain([1, 2, 3]))
        body.rewind()
        #expect(!body.isRepeated && !body.isTaken)
        _ = take(&body, 2)
        #expect(!body.isRepeated && body.isTaken)
        body.rewind()
        #expect(body.isRepeated && body.isTaken)
        #expect(take(&body, 10) == [1, 2, 3])
    }
}

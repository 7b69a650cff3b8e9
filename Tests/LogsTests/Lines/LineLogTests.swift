import Testing

@testable import Logs

@Suite struct LineLogTests {
    let decoder = LineLogDecoder()

    private func read(_ body: [UInt8]) throws(LogDecodingError) -> DecodedLogs {
        // An allocation of exactly the body's size, so that AddressSanitizer sees a byte too many.
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
        copy.copyBytes(from: body)
        defer { copy.deallocate() }
        let rules = LogRules(times: .sls)
        let timing = BatchTiming(arrival: arrival)
        return try decoder.decode(LogBody(UnsafeRawBufferPointer(copy), timing, rules))
    }

    private func lines(_ body: String) throws -> [String] {
        try read(Array(body.utf8)).sound.read().map { log in
            #expect(log.fields.count == 1 && log.fields[0][0] == "message")
            #expect(log.seconds == arrivalSeconds && log.nanoseconds == 0)
            return log.fields[0][1]
        }
    }

    @Test(
        "Each line is a log, whatever ends it",
        arguments: [
            ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]),
            ("\n\n a \n\r\n\n", [" a "]), ("a\rb\r\r\n", ["a\rb\r"]), ("\n", []), ("\r\n", []),
            ("\r", []), ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]), ("\u{FEFF}", []),
            ("世界 \"{}\"\t\0\n", ["世界 \"{}\"\t\0"]),
        ]
    )
    func lines(body: String, expected: [String]) throws {
        #expect(try lines(body) == expected)
    }

    @Test("A body cut at any byte has the remaining lines")
    func truncation() throws {
        let body = "first line\r\nsecond é\n\nthird\n"
        for count in 1...body.utf8.count {
            let part = String(decoding: Array(body.utf8.prefix(count)), as: UTF8.self)
            let expected = part.split(whereSeparator: { $0 == "\n" || $0 == "\r\n" }).map {
                $0.hasSuffix("\r") ? String($0.dropLast()) : String($0)
            }
            let logs = try read(Array(body.utf8.prefix(count))).sound.read()
            #expect(logs.map { $0.fields[0][1] } == expected, "\(count) bytes")
        }
    }

    @Test("Text that is not UTF-8 is repaired, and the log is marked")
    func repaired() throws {
        let logs = try read([0x61, 0xFF, 0x0A, 0x62]).sound.read()
        #expect(
            logs.map(\.fields) == [
                [["message", "a\u{FFFD}"], ["__invalid_utf8__", "message"]], [["message", "b"]],
            ]
        )
    }

    @Test("An empty body is refused")
    func empty() {
        #expect(throws: LogDecodingError(position: 0, reason: "the body has no line")) {
            try read([])
        }
    }

    @Test("A line may be as long as a value, and is cut beyond")
    func long() throws {
        let line = [UInt8](repeating: 0x61, count: 1 << 20)
        let logs = try read(line + [0x0A] + line + [0x61]).sound.read()
        #expect(logs.map { $0.fields[0][1].utf8.count } == [1 << 20, 1 << 20])
        #expect(logs.map { $0.fields.count } == [1, 2])
        #expect(logs[1].fields[1] == ["__truncated__", "message"])
    }

    @Test("Too many lines are refused with the place of the first one too many")
    func count() throws {
        var limits = LogLimits()
        limits.logs = 2
        let decoder = LineLogDecoder(limits: limits)
        let timing = BatchTiming(arrival: arrival)
        #expect(
            try padded(Array("a\nb\n\n".utf8)) { try decoder.decode(LogBody($0, timing)) }.count
                == 2
        )
        let fault = #expect(throws: LogDecodingError.self) {
            try padded(Array("a\nb\n\nc".utf8)) { try decoder.decode(LogBody($0, timing)) }
        }
        #expect(fault?.position == 5)
    }
}

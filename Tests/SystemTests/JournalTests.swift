import Glibc
import TestSupport
import Testing

@testable import System

@Suite(.timeLimit(.minutes(10)))
struct JournalTests {
    @Test("A JSON line quotes texts and keeps numbers as numbers")
    func jsonLine() {
        let lines = Locked<[String]>([])
        let journal = Journal(level: .info, format: .json) { bytes in
            lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        journal.debug("unheard")
        journal.warning("queue \"full\"", ["bytes": 12, "path": "a\nb", "closed": true])
        let written = lines.withLock { $0 }
        #expect(written.count == 1)
        #expect(
            written[0].hasSuffix(
                #""level":"warning","event":"queue \"full\"","bytes":12,"path":"a\nb","closed":true}"#
                    + "\n"
            )
        )
    }

    @Test(
        "Control characters are escaped in each format",
        arguments: [Journal.Format.json, .text],
        [
            ("\u{1b}", "1b"), ("\u{7f}", "7f"), ("\u{85}", "85"), ("\u{9b}", "9b"),
            ("\u{9f}", "9f"), ("\u{2028}", "2028"), ("\u{2029}", "2029"),
        ]
    )
    func unprintable(format: Journal.Format, text: (character: String, code: String)) {
        let lines = Locked<[String]>([])
        let journal = Journal(level: .info, format: format) { bytes in
            lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        journal.info("a\(text.character)b", ["key": "ü\(text.character)[31m"])
        let line = lines.withLock { $0.joined() }
        #expect(!line.unicodeScalars.contains(Unicode.Scalar(text.character)!))
        let code = String(repeating: "0", count: 4 - text.code.count) + text.code
        #expect(line.contains("\"a\\u\(code)b\""))
        #expect(line.contains("\"ü\\u\(code)[31m\""))
    }

    @Test("A time is printed as RFC 3339 with milliseconds")
    func time() {
        #expect(
            WallTime(nanoseconds: 1_736_843_400_123_000_000).rfc3339 == "2025-01-14T08:30:00.123Z"
        )
    }

    @Test("After a flush, all lines are written in order")
    func flushes() throws {
        let pipe = try Pipe()
        let journal = Journal(level: .info, format: .text, descriptor: pipe.input)
        for number in 0..<100 { journal.info("line", ["number": number]) }
        journal.flush()
        let lines = pipe.readLines(atLeast: 1)
        #expect(lines.count == 100)
        #expect(lines.last?.hasSuffix("line number=99") == true)
    }

    @Test("A stuck reader blocks no writer, and later gets the number of missed lines")
    func stuckReader() throws {
        let pipe = try Pipe()
        let journal = Journal(
            level: .info,
            format: .json,
            descriptor: pipe.input,
            bytesMax: 20_000
        )
        let begun = Moment.now
        let all = 3000
        for number in 0..<all { journal.info("line", ["number": number]) }
        journal.flush(within: .milliseconds(100))
        #expect(Moment.now - begun < .seconds(10).calibrated())

        var written = 0
        var dropped = 0
        while written + dropped < all {
            for line in pipe.readLines(atLeast: 1) {
                #expect(line.hasPrefix("{\"time\":") && line.hasSuffix("}"))
                if line.contains("dropped"), let count = line.split(separator: ":").last {
                    dropped += try #require(Int(count.dropLast()))
                } else {
                    // Each is where it belongs: after those before it, dropped ones included.
                    #expect(line.hasSuffix(":\(written + dropped)}"))
                    written += 1
                }
            }
        }
        #expect(written + dropped == all && dropped > 0)

        journal.info("afterwards")
        journal.flush()
        #expect(pipe.readLines(atLeast: 1).last?.contains("afterwards") == true)
    }

    @Test("A non-blocking descriptor gets whole lines")
    func nonBlocking() throws {
        let pipe = try Pipe()
        #expect(fcntl(pipe.input, F_SETFL, O_NONBLOCK) == 0)
        let journal = Journal(level: .info, format: .json, descriptor: pipe.input)
        for number in 0..<3000 { journal.info("line", ["number": number]) }
        let lines = pipe.readLines(atLeast: 3000)
        #expect(lines.count == 3000)
        #expect(lines.allSatisfy { $0.hasPrefix("{\"time\":") && $0.hasSuffix("}") })
        journal.flush()
    }

    @Test("A flush does not wait for a reader that has closed")
    func brokenPipe() throws {
        let pipe = try Pipe()
        pipe.closeOutput()
        let journal = Journal(level: .info, format: .json, descriptor: pipe.input)
        journal.info("unheard")
        let begun = Moment.now
        journal.flush(within: .seconds(20))
        #expect(Moment.now - begun < .seconds(10).calibrated())
    }
}

private final class Pipe {
    struct Failed: Error {}

    let input: CInt
    private var output: CInt
    private var rest: [UInt8] = []

    init() throws {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failed() }
        (output, input) = (ends[0], ends[1])
    }

    deinit {
        closeOutput()
        close(input)
    }

    func closeOutput() {
        if output >= 0 { close(output) }
        output = -1
    }

    /// Whole lines; waits until there are so many.
    func readLines(atLeast count: Int) -> [String] {
        var bytes = rest
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count(where: { $0 == 0x0a }) < count {
            let count = read(output, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        let end = bytes.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0
        rest = Array(bytes[end...])
        return bytes[..<end].split(separator: 0x0a).map { String(decoding: $0, as: UTF8.self) }
    }
}

import TestSupport
import Testing

@testable import Logs

@Suite struct AddedFieldsTests {
    private static func samples(_ random: inout SeededRandom) -> EncodedLogs {
        var logs = EncodedLogs()
        for _ in 0..<Int.random(in: 0...20, using: &random) {
            let size = [0, 3, 90, 100, 110, 120, 16_250, 16_300, 70_000].randomElement(
                using: &random
            )!
            let nanoseconds = Bool.random(using: &random) ? UInt32(1) : 0
            let fields = [("k", String(repeating: "%", count: size)), ("l", "")].prefix(size % 3)
            logs.append(
                time: LogTime(
                    seconds: .random(in: 0 ... .max, using: &random),
                    nanoseconds: nanoseconds
                ),
                fields: Array(fields)
            )
        }
        return logs
    }

    @Test("Every log has the new fields before its own, and is whole", arguments: 0..<50)
    func added(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let logs = Self.samples(&random)
        let extra = (0..<Int.random(in: 0...3, using: &random))
            .map { ("__tag__:\($0)", String(repeating: "t", count: 40 * $0)) }
        let folded = try #require(logs.adding(extra, atMost: 100 << 20))
        let expected = try logs.read().map { log in
            Read(
                extra.map { [$0.0, $0.1] } + log.fields,
                seconds: log.seconds,
                nanoseconds: log.nanoseconds
            )
        }
        #expect(try folded.read() == expected)
    }

    @Test("Times of any width are skipped")
    func shortTimes() throws {
        // As standard encoders write them: one byte, and the padded form with nothing else.
        let logs = EncodedLogs(
            bytes: [0x0A, 2, 0x08, 5, 0x0A, 6, 0x08, 0x85, 0x80, 0x80, 0x80, 0],
            count: 2
        )
        let folded = try #require(logs.adding([("a", "b")], atMost: 1000))
        let log = Read([["a", "b"]], seconds: 5)
        #expect(try folded.read() == [log, log])
    }

    @Test("Only a log's own fields of these names are replaced")
    func replaced() throws {
        var logs = EncodedLogs()
        let own = [("__tag__:a", "mine"), ("__tag__:aa", "1"), ("k", "v"), ("__tag__:b", "")]
        logs.append(time: LogTime(seconds: 1, nanoseconds: 5), fields: own)
        logs.append(time: LogTime(seconds: 2), fields: [("__tag__:b", "mine")])
        logs.append(time: LogTime(seconds: 3), fields: [("x", "%"), ("__tag__:", "1")])
        let tags = [("__tag__:b", "B"), ("__tag__:a", "A")]
        let shared = tags.map { [$0.0, $0.1] }
        let added = try #require(logs.adding(tags, atMost: 1000)).read()
        #expect(added.map(\.seconds) == [1, 2, 3])
        #expect(added[0].nanoseconds == 5)
        #expect(added[0].fields == shared + [["__tag__:aa", "1"], ["k", "v"]])
        #expect(added[1].fields == shared)
        #expect(added[2].fields == shared + [["x", "%"], ["__tag__:", "1"]])
    }

    @Test("Fields may be for the first log only, which may be one that is kept aside")
    func first() throws {
        var logs = EncodedLogs()
        for second in 0..<3 as Range<UInt32> {
            logs.append(time: LogTime(seconds: second), fields: [("k", "v")])
        }
        let (with, without) = ([["t", "1"], ["k", "v"]], [["k", "v"]])
        let added = try #require(logs.adding([("t", "1")], toFirst: 1, atMost: 200))
        #expect(try added.read().map(\.fields) == [with, without, without])
        let faulty = FaultyLogs(logs: logs, fault: .timeOutOfRange)
        let both = DecodedLogs(sound: logs, faulty: [faulty])
            .adding([("t", "1")], toFirst: 1, atMost: 400)
        #expect(both?.sound == added && both?.faulty == [faulty])
        let aside = DecodedLogs(faulty: [faulty]).adding([("t", "1")], toFirst: 1, atMost: 400)
        #expect(aside?.faulty.first?.logs == added)
    }

    @Test("Tags that would multiply a body beyond the bound are not put into its logs")
    func bounded() {
        var logs = EncodedLogs()
        for _ in 0..<1000 { logs.append(time: LogTime(seconds: 1), fields: []) }
        let tags = [("tag", String(repeating: "t", count: 8000))]
        let tight = logs.adding(tags, atMost: 7 << 20)
        #expect(tight?.count == nil)
        #expect(logs.adding(tags, atMost: 9 << 20)?.count == 1000)
        let decoded = DecodedLogs(
            sound: logs,
            faulty: [FaultyLogs(logs: logs, fault: .timeOutOfRange)]
        )
        let half = decoded.adding(tags, atMost: 9 << 20)
        #expect(half?.count == nil)
        #expect(decoded.adding(tags, atMost: 17 << 20)?.count == 2000)
    }

    @Test("A tag's name as a field is never longer than names may be")
    func names() {
        #expect(FieldName.ofTag("os") == "__tag__:os")
        let long = String(repeating: "n", count: 128)
        #expect(FieldName.ofTag(long) == storableName("__tag__:" + long, bytesMax: 128))
        #expect(FieldName.ofTag(long).utf8.count == 128)
    }

    @Test("Logs larger than a packet are set aside, the others keep their order")
    func tooLarge() throws {
        var logs = EncodedLogs()
        for size in [10, 500, 20, 501, 30] {
            let value = String(repeating: "v", count: size)
            logs.append(time: LogTime(seconds: 1), fields: [("k", value)])
        }
        var decoded = DecodedLogs(sound: logs)
        try decoded.setAside(largerThan: 10_000)
        #expect(decoded.sound == logs)
        try decoded.setAside(largerThan: 100)
        #expect(try decoded.sound.read().map { $0.fields[0][1].utf8.count } == [10, 20, 30])
        #expect(decoded.faulty.map(\.fault) == [.logTooLarge(bytesMax: 100)])
        #expect(try decoded.faulty[0].logs.read().map { $0.fields[0][1].utf8.count } == [500, 501])
        #expect(decoded.count == 5)
    }
}

extension EncodedLogs {
    fileprivate func adding(
        _ fields: [(key: String, value: String)],
        toFirst logsMax: Int = .max,
        atMost bytesMax: Int
    ) -> EncodedLogs? {
        DecodedLogs(sound: self).adding(fields, toFirst: logsMax, atMost: bytesMax)?.sound
    }
}

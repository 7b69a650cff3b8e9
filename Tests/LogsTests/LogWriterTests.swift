import Testing

@testable import Logs

/// The writer's treatment of logs, which all decoders share.
@Suite struct LogWriterTests {
    private func logs(
        _ rules: LogRules = LogRules(times: .sls),
        skew: Int64 = 0,
        _ limits: LogLimits = LogLimits(),
        _ write: (inout LogWriter) -> Void
    ) -> DecodedLogs {
        var writer = LogWriter(limits: limits)
        let timing = BatchTiming(arrival: arrival, skew: ClockSkew(seconds: skew))
        // The state that an earlier body left must not matter.
        writer.start(timing, rules)
        writer.startLog()
        writer.uncheckedField(name: "left", value: [0xFF])
        writer.time(seconds: 1)
        writer.start(timing, rules)
        write(&writer)
        return writer.logs
    }

    @Test("Logs have their fields in order, and their own time or that of their arrival")
    func plain() throws {
        let decoded = logs { writer in
            writer.startLog()
            writer.field("level", "info")
            writer.time(seconds: UInt64(arrivalSeconds) - 60, nanoseconds: 5)
            writer.field(name: "empty", value: [])
            _ = writer.endLog()
            writer.log { _ in }
        }
        let first = Read(
            [["level", "info"], ["empty", ""]],
            seconds: arrivalSeconds - 60,
            nanoseconds: 5
        )
        #expect(try decoded.sound.read() == [first, Read([])])
    }

    @Test("Fields without a name replace each other, and take no room while they do")
    func unnamed() throws {
        var writer = LogWriter(limits: LogLimits())
        writer.start(BatchTiming(arrival: arrival), LogRules())
        for _ in 0..<2 {
            writer.startLog()
            writer.field("", "first")
            writer.field("a", "1")
            for number in 0..<100_000 {
                writer.uncheckedField(name: "", value: [0xFF, UInt8(number & 0x7F)])
            }
            #expect(writer.output.length < 400)
            writer.field("", "last")
            writer.field("b", "2")
            writer.uncheckedField(name: "c", value: [0xFF])
            _ = writer.endLog()
            writer.startLog()
            writer.field("", "x")
            writer.uncheckedField(name: "", value: [0xFF])
            _ = writer.endLog()
        }
        let first = [
            ["a", "1"], ["__empty__", "last"], ["b", "2"], ["c", "\u{FFFD}"],
            ["__invalid_utf8__", "c"],
        ]
        let second = [["__empty__", "\u{FFFD}"], ["__invalid_utf8__", "__empty__"]]
        let logs = try writer.logs.sound.read()
        #expect(logs.map(\.fields) == [first, second, first, second])
        #expect(writer.output.capacity <= 16 << 10)
    }

    @Test("Reserved, empty and repeated names are treated as in JSON")
    func names() throws {
        let decoded = logs { writer in
            writer.startLog()
            for name in ["__topic__", "__time__", "", "_x", "a", "b", "a"] {
                writer.field(name, "of \(name)")
            }
            writer.field("b", "last")
            _ = writer.endLog()
        }
        let fields = [
            ["field__topic__", "of __topic__"], ["__original_time__", "of __time__"],
            ["__empty__", "of "], ["_x", "of _x"], ["a", "of a"], ["b", "last"],
        ]
        #expect(try decoded.sound.read() == [Read(fields)])
    }

    @Test("Names and values that are too long are cut, or cost their log alone")
    func oversize() throws {
        var limits = LogLimits()
        (limits.keyBytes, limits.valueBytes) = (20, 4)
        let name = String(repeating: "n", count: 21)
        for oversize in [LogRules.Oversize.cut, .setAside] {
            let decoded = logs(LogRules(oversize: oversize), limits) { writer in
                for value in ["1234", "12345"] {
                    writer.log { $0.field("k", value) }
                }
                writer.log { $0.field(name, "1") }
            }
            #expect(decoded.count == 3)
            let stored = storableName(name, bytesMax: 20)
            let expected =
                oversize == .setAside
                ? [Read([["k", "1234"]])]
                : [
                    Read([["k", "1234"]]), Read([["k", "1234"], ["__truncated__", "k"]]),
                    Read([[stored, "1"], ["__truncated__", stored]]),
                ]
            #expect(try decoded.sound.read() == expected)
        }
    }

    @Test("A time that the rules reject stays as a field, as the device wrote it")
    func lateTimes() throws {
        let decoded = logs { writer in
            for write in [
                { $0.time(seconds: 12) },
                { $0.time(seconds: 12, nanoseconds: 30) },
                { $0.time(seconds: 1 << 40) },
                { $0.time(nanosecondsSince1970: .max) },
                { $0.time(text: "1971-01-01T00:00:00Z") },
                { $0.time(text: "yesterday") },
            ] as [(inout LogWriter) -> Void] {
                writer.log(write)
            }
        }
        let kept = [
            "12", "12.000000030", "1099511627776", "18446744073.709551615",
            "1971-01-01T00:00:00Z", "yesterday",
        ]
        #expect(try decoded.sound.read() == kept.map { Read([["__original_time__", $0]]) })
        for late in [LogRules.Late.drop, .setAside] {
            let decoded = logs(LogRules(times: .sls, late: late)) { writer in
                for seconds in [12, 1 << 40] as [UInt64] {
                    writer.log { $0.time(seconds: seconds) }
                }
            }
            #expect(decoded.sound.count == 0)
            #expect(decoded.count == 2)
            #expect(decoded.dropped == (late == .drop ? 2 : 0))
        }
    }

    @Test("The skew of a clock is added to every kind of time, and noted")
    func skew() throws {
        let decoded = logs(skew: 100) { writer in
            let seconds = UInt64(arrivalSeconds)
            for write in [
                { $0.time(seconds: seconds) },
                { $0.time(nanosecondsSince1970: seconds * 1_000_000_000) },
                { $0.time(text: "\(seconds)000") },
                { _ in },
            ] as [(inout LogWriter) -> Void] {
                writer.log(write)
            }
        }
        let corrected = Read([["__clock_skew__", "100"]], seconds: arrivalSeconds + 100)
        #expect(
            try decoded.sound.read() == [corrected, corrected, corrected, Read([])]
        )
        #expect(decoded.corrected == 3)
    }

    @Test("A body has as many logs as the limit says, those of its earlier parts included")
    func full() {
        var limits = LogLimits()
        limits.logs = 3
        var writer = LogWriter(limits: limits)
        writer.start(BatchTiming(arrival: arrival), LogRules(), logsBefore: 1)
        for _ in 0..<2 {
            let isFull = writer.isFull
            #expect(!isFull)
            writer.log { _ in }
        }
        let isFull = writer.isFull
        #expect(isFull)
    }
}

extension LogWriter {
    mutating func log(_ write: (inout LogWriter) -> Void) {
        startLog()
        write(&self)
        _ = endLog()
    }

    mutating func field(_ name: String, _ value: String) {
        let (name, value) = (Array(name.utf8), Array(value.utf8))
        name.withUnsafeBufferPointer { name in
            value.withUnsafeBufferPointer { value in field(name: name, value: value) }
        }
    }

    mutating func uncheckedField(name: StaticString, value: [UInt8]) {
        value.withUnsafeBufferPointer { uncheckedField(name: name, value: $0) }
    }

    mutating func time(text: String) {
        let text = Array(text.utf8)
        text.withUnsafeBufferPointer { time(text: $0) }
    }
}

import System
import Testing

@testable import Logs

@Suite
struct LateLogTests {
    let decoder = JSONLogDecoder()
    let rules = LogRules(
        times: TimeWindow(past: .seconds(3600), future: .seconds(60)),
        late: .setAside
    )
    let now = Int64(arrivalSeconds)

    @Test("A time that SLS would refuse becomes the arrival and stays as a field")
    func rewritten() throws {
        for (time, isBelieved) in [
            (now, true), (now - 6 * 86_400, true), (now - 7 * 86_400, false), (now + 800, true),
            (now + 900, false), (0, false),
        ] {
            let expected =
                isBelieved
                ? Read([["a", "1"]], seconds: UInt32(time))
                : Read([["__original_time__", "\(time)"], ["a", "1"]])
            let logs = try decoder.ruled("{\"__time__\":\(time),\"a\":1}")
            #expect(try logs.sound.read() == [expected])
            #expect(logs.count == 1)
        }
    }

    @Test("Times at the bounds of the window are believed")
    func bounds() throws {
        let times = [now - 3601, now - 3600, now, now + 60, now + 61]
        let body = times.map { #"{"__time__":\#($0),"n":\#($0 - now)}"# }.joined()
        let logs = try decoder.ruled(body, rules)
        #expect(
            try logs.sound.read().map(\.fields) == [
                [["n", "-3600"]], [["n", "0"]], [["n", "60"]],
            ]
        )
        #expect(logs.faulty.map(\.fault) == [.tooOld(.seconds(3600)), .tooNew(.seconds(60))])
        #expect(logs.faulty.allSatisfy { $0.fault.code == "LogTimeInvalid" })
        #expect(logs.faulty[0].fault.message.contains("3600 s"))
    }

    @Test("A host that does not know the time believes every device")
    func hostWithoutTime() {
        for seconds: Int64 in [0, 30, 1_735_689_599] {
            let believed = TimeWindow.sls.seconds(around: WallTime(seconds: seconds))
            #expect(believed == 0...UInt32.max)
        }
        let believed = TimeWindow.sls.seconds(around: WallTime(seconds: 1_735_689_600))
        #expect(believed.upperBound == 1_735_689_600 + 14 * 60)
    }

    @Test("SLS's clock decides if a log is late where the host's is wrong")
    func offset() throws {
        let timing = BatchTiming(arrival: arrival, offset: .seconds(86_400))
        let times = [now, now + 86_400 - 3600, now + 86_400 + 60, now + 86_400 + 61]
        let body = times.map { #"{"__time__":\#($0),"n":\#($0 - now)}"# }.joined()
        let logs = try padded(Array(body.utf8)) { body throws(LogDecodingError) in
            try decoder.decodePlain(LogBody(body, timing, rules))
        }
        #expect(try logs.sound.read().map(\.fields) == [[["n", "82800"]], [["n", "86460"]]])
        #expect(logs.faulty.map(\.fault) == [.tooOld(.seconds(3600)), .tooNew(.seconds(60))])
    }

    @Test("A log that is set aside has its own time and all of its fields")
    func keptAside() throws {
        let logs = try decoder.ruled(#"{"a":"1","__time__":1000000000.25,"b":"2"}{"c":"3"}"#, rules)
        let late = Read(
            [["a", "1"], ["b", "2"]],
            seconds: 1_000_000_000,
            nanoseconds: 250_000_000
        )
        #expect(try logs.faulty[0].logs.read() == [late])
        #expect(try logs.sound.read() == [Read([["c", "3"]])])
    }

    @Test("A dropped log is counted and gone")
    func dropped() throws {
        var rules = rules
        rules.late = .drop
        let logs = try decoder.ruled(#"{"__time__":5,"a":1}{"b":1}{"c":1,"__time__":6}"#, rules)
        #expect(try logs.sound.read() == [Read([["b", "1"]])])
        #expect(logs.dropped == 2)
        #expect(logs.count == 3)
    }

    @Test(
        "A time beyond 32 bits is late, and stays as a field",
        arguments: ["-1", "99999999999", "\"9999-12-31T23:59:59Z\""]
    )
    func impossible(time: String) throws {
        let body = "{\"__time__\":\(time)}"
        let text = time.replacing("\"", with: "")
        let kept = Read([["__original_time__", text]])
        #expect(try decoder.ruled(body).sound.read() == [kept])
        let logs = try decoder.ruled(body, rules)
        #expect(logs.faulty.map(\.fault) == [.timeOutOfRange])
        #expect(try logs.faulty[0].logs.read() == [kept])
    }

    @Test("The last of two times decides")
    func repeated() throws {
        let good = try decoder.ruled(#"{"__time__":5,"__time__":\#(now)}"#, rules)
        #expect(try good.sound.read() == [Read([])])
        let late = try decoder.ruled(#"{"__time__":\#(now),"__time__":5}"#, rules)
        #expect(late.sound.count == 0)
        #expect(try late.faulty[0].logs.read() == [Read([], seconds: 5)])
    }

    @Test("Web tracking has the same rules, and keeps an unreadable time")
    func tracking() throws {
        let body = #"{"__logs__":[{"__time__":5},{"__time__":"soon"},{"a":"b"}]}"#
        let logs = try decoder.tracking(body, rules).logs
        #expect(logs.faulty.map(\.logs.count) == [1])
        #expect(
            try logs.sound.read() == [Read([["__original_time__", "soon"]]), Read([["a", "b"]])]
        )
    }

    // MARK: - Clocks that are wrong

    @Test(
        "A device tells its time in seconds, with a fraction, or in milliseconds",
        arguments: [
            ("1736839800", 3600), ("1736847000", -3600), ("1736839800.5", 3600),
            ("1736839800250", 3600), ("2025-01-14T07:30:00Z", 3600), ("1736843398", 2),
            ("1736843398.6", 0), ("1736843401.4", 0), ("1736843402", -2), ("1736843400", 0),
        ] as [(String, Int64)]
    )
    func read(text: String, seconds: Int64) {
        #expect(ClockSkew(clientTime: text, received: arrival)?.seconds == seconds)
    }

    @Test(
        "A text that is no time, or ten years away, is no clock",
        arguments: ["", "soon", "-5", "0", "1421000000", "2100000000", "1e30", "12"]
    )
    func unusable(text: String) {
        #expect(ClockSkew(clientTime: text, received: arrival) == nil)
    }

    @Test("A log's own time is corrected and the log says by how much; others stay as they are")
    func corrected() throws {
        let body = #"{"__time__":\#(now - 10).5,"a":1}{"b":2}"#
        let logs = try decoder.ruled(body, skew: -3600)
        let own = Read(
            [["a", "1"], ["__clock_skew__", "-3600"]],
            seconds: UInt32(now - 3610),
            nanoseconds: 500_000_000
        )
        #expect(try logs.sound.read() == [own, Read([["b", "2"]])])
        #expect(logs.corrected == 1)
    }

    @Test("The corrected time has to lie in the window")
    func window() throws {
        let body = #"{"__time__":\#(now - 30 * 86_400)}{"__time__":\#(now)}"#
        let logs = try decoder.ruled(
            body,
            LogRules(times: .sls, late: .setAside),
            skew: 30 * 86_400
        )
        #expect(try logs.sound.read() == [Read([["__clock_skew__", "2592000"]])])
        #expect(logs.faulty.map(\.fault) == [.tooNew(.seconds(840))])
        #expect(logs.corrected == 2)
    }

    @Test("A time that the correction moves out of 32 bits is late")
    func outOfRange() throws {
        let logs = try decoder.ruled(#"{"__time__":10}"#, skew: -3600)
        let fields = [["__original_time__", "10"], ["__clock_skew__", "-3600"]]
        #expect(try logs.sound.read() == [Read(fields)])
    }

    @Test("A corrected log gets all other marks, too")
    func together() throws {
        let value = String(repeating: "v", count: 1 << 20)
        let logs = try decoder.ruled(
            #"{"k":"\#(value)v","__time__":\#(now),"__clock_skew__":"x"}"#,
            skew: 5
        )
        let fields = [["k", value], ["__truncated__", "k"], ["__clock_skew__", "5"]]
        #expect(try logs.sound.read() == [Read(fields, seconds: UInt32(now + 5))])
    }
}

import System
import Testing

@testable import Logs

@Suite struct ClockSkewTests {
    let decoder = JSONLogDecoder()
    let now = Int64(arrivalSeconds)

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

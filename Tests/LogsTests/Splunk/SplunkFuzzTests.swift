import TestSupport
import Testing

@testable import Logs

@Suite struct SplunkFuzzTests {
    private static let body =
        #"{"time":1736843399.5,"host":"h\u0031","source":"/var/log/é","sourcetype":"_json","#
        + #""index":"main","event":{"a":"b","n":[1,{"x":"\n"}]},"fields":{"k":"v"}}"#
        + "\n[" + #"{"event":"text \ud83d\ude00","other":{"a":[true,null]}},"#
        + #"{"event":7,"host":"h1"}]"#

    @Test("A body cut at any byte is refused, or has the events before the cut")
    func truncated() throws {
        let decoder = JSONLogDecoder()
        let bytes = Array(Self.body.utf8)
        for count in 0..<bytes.count {
            do throws(SplunkFault) {
                let events = try padded(Array(bytes[..<count])) { body throws(SplunkFault) in
                    try decoder.decodeSplunk(body, BatchTiming(arrival: arrival))
                }
                // Behind the first event, where nothing of the second has come.
                #expect(events.reduce(0) { $0 + $1.logs.count } == 1, "\(count)")
            } catch {
                #expect(0...count ~= error.cause.position)
            }
        }
        #expect(try decoder.splunk(Self.body).reduce(0) { $0 + $1.logs.count } == 3)
    }

    @Test("Broken bodies are refused with a place, or are whole logs", arguments: 0..<4)
    func broken(seed: Int) throws {
        var writer = JSONFuzzTests.Writer(random: SeededRandom(seed: UInt64(300 + seed)))
        let decoder = JSONLogDecoder()
        let rules = LogRules(times: .sls, late: .setAside)
        for index in 0..<1500 {
            var text = Self.body
            if index % 2 == 0 {
                text =
                    #"{"event":\#(writer.value(1)),"time":\#(writer.scalar()),"#
                    + #""host":\#(writer.scalar()),"fields":\#(writer.log())}"#
            }
            let body = writer.mostlyBroken(text)
            do throws(SplunkFault) {
                let events = try padded(body) { body throws(SplunkFault) in
                    try decoder.decodeSplunk(body, BatchTiming(arrival: arrival), rules)
                }
                for event in events { expectReadable(event.logs) }
            } catch {
                #expect(0...body.count ~= error.cause.position, "\(error)")
            }
        }
    }
}

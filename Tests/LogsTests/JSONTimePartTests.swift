import Testing

@testable import Logs

/// PutLogs as JSON.
@Suite struct JSONTimePartTests {
    let decoder = JSONLogDecoder()

    private func read(_ log: String, _ rules: LogRules = LogRules()) throws -> [Read] {
        let body = "{\"__topic__\":\"t\",\"__logs__\":[{\(log)},{\"a\":\"b\"}]}"
        let tracked = try decoder.tracking(body, rules, timeParts: true)
        #expect(tracked.topic == "t")
        return try tracked.logs.sound.read()
    }

    @Test(
        "The part below the second completes the time, wherever it stands",
        arguments: [
            #""__time__":1736843300,"__time_ns_part__":123456789,"k":"v""#,
            #""__time_ns_part__":"123456789","k":"v","__time__":"1736843300""#,
            #""__time_ns_part__":5,"__time__":1736843300,"k":"v","__time_ns_part__":123456789"#,
        ]
    )
    func completed(log: String) throws {
        let expected = Read([["k", "v"]], seconds: 1_736_843_300, nanoseconds: 123_456_789)
        #expect(try read(log) == [expected, Read([["a", "b"]])])
    }

    @Test("The nanoseconds go with the time that they belong to")
    func alone() throws {
        #expect(try read(#""__time_ns_part__":5"#)[0] == Read([]))
        let late = try read(#""__time__":12,"__time_ns_part__":5"#, LogRules(times: .sls))
        #expect(late[0] == Read([["__original_time__", "12"]]))
        #expect(
            try read(#""__time__":\#(arrivalSeconds),"__time_ns_part__":7"#)[0]
                == Read([], nanoseconds: 7)
        )
    }

    @Test(
        "A value that is no number of nanoseconds stays a field",
        arguments: ["-1", "1e3", "x", "", "1234567890"]
    )
    func other(value: String) throws {
        let log = "\"__time__\":1736843300,\"__time_ns_part__\":\"\(value)\""
        let expected = Read([["__time_ns_part__", value]], seconds: 1_736_843_300)
        #expect(try read(log)[0] == expected)
    }

    @Test("In web tracking __time_ns_part__ is an ordinary field")
    func tracking() throws {
        _ = try read(#""__time_ns_part__":5"#)
        let tracked = try decoder.tracking(#"{"__logs__":[{"__time_ns_part__":5}]}"#)
        #expect(try tracked.logs.sound.read() == [Read([["__time_ns_part__", "5"]])])
    }
}

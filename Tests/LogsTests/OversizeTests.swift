import Testing

@testable import Logs

/// The stored name: cut between characters, with the FNV-1a sum of the whole name behind it.
func storableName(_ name: String, bytesMax: Int) -> String {
    if name.isEmpty { return "__empty__" }
    guard name.utf8.count > bytesMax else { return name }
    let sum = name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let digits = String(sum, radix: 16)
    return prefix(of: name, bytesMax: bytesMax - 9) + "_"
        + String(repeating: "0", count: 8 - digits.count) + digits
}

/// As many whole characters as fit.
func prefix(of text: String, bytesMax: Int) -> String {
    var kept = ""
    for scalar in text.unicodeScalars {
        guard kept.utf8.count + String(scalar).utf8.count <= bytesMax else { break }
        kept.unicodeScalars.append(scalar)
    }
    return kept
}

@Suite
struct OversizeTests {
    let decoder = JSONLogDecoder()
    let setAside = LogRules(times: .sls, oversize: .setAside)
    let limit = 1 << 20

    @Test("A value of a MiB stays as it is; one byte more is cut and the log says so")
    func value() throws {
        let value = String(repeating: "v", count: limit)
        #expect(
            try decoder.plain(#"{"k":"\#(value)"}"#) == [Read([["k", value]])]
        )
        let cut = Read([["k", value], ["b", "1"], ["__truncated__", "k"]])
        #expect(
            try decoder.plain(#"{"k":"\#(value)v","b":1}{"a":2}"#) == [cut, Read([["a", "2"]])]
        )
        let nested = try decoder.plain(#"{"k":["\#(value)"],"b":1}"#)[0].fields
        #expect(nested[0][1].utf8.count == limit)
        #expect(nested[2] == ["__truncated__", "k"])
        let digits = try decoder.plain("{\"k\":\(value.map { _ in "1" }.joined())1}")[0].fields
        #expect(digits[0][1].utf8.count == limit)
    }

    @Test(
        "A value is cut between characters",
        arguments: ["é", "世", "😀", "\\u4e16", "\\ud83d\\ude00"]
    )
    func characters(text: String) throws {
        for shift in 0..<4 {
            let start = String(repeating: "x", count: limit - 4 + shift)
            let fields = try decoder.plain(#"{"k":"\#(start)\#(text)\#(text)\#(text)"}"#)[0].fields
            let kept = fields[0][1]
            #expect(kept.utf8.count <= limit && kept.utf8.count > limit - 4)
            #expect(kept.hasPrefix(start))
            #expect(!kept.unicodeScalars.contains("\u{FFFD}"))
            #expect(fields[1] == ["__truncated__", "k"])
        }
    }

    @Test("All cut fields are named, except those that a later field replaces")
    func names() throws {
        var limits = LogLimits()
        limits.valueBytes = 4
        let decoder = JSONLogDecoder(limits: limits)
        let body = #"{"a":"12345","b":"12345","c":"1","a":"2","d":[1,2],"__truncated__":"mine"}"#
        let fields = [
            ["b", "1234"], ["c", "1"], ["a", "2"], ["d", "[1,2"], ["__truncated__", "b,d"],
        ]
        #expect(try decoder.plain(body) == [Read(fields)])
        #expect(try decoder.plain(#"{"a":"12345","a":"1"}"#) == [Read([["a", "1"]])])
        #expect(try decoder.ruled(#"{"a":"12345","a":"1"}"#, setAside).faulty.isEmpty)
    }

    @Test("The list of cut fields has a bound of its own")
    func manyNames() throws {
        let names = (0..<20_000).map { "\"\($0)" + String(repeating: "n", count: 130) + "\":1" }
        var limits = LogLimits()
        limits.fields = 20_000
        let decoder = JSONLogDecoder(limits: limits)
        let log = try decoder.plain("{" + names.joined(separator: ",") + "}")[0]
        #expect(log.fields.count == 20_001)
        #expect(log.fields[20_000][1].utf8.count <= 1028)
        #expect(log.fields[20_000][1].hasSuffix(",..."))
    }

    @Test(
        "A name of 128 bytes stays, a longer one is cut and stays itself, an empty one gets a name"
    )
    func name() throws {
        let key = String(repeating: "k", count: 128)
        #expect(try decoder.plain(#"{"\#(key)":1}"#) == [Read([[key, "1"]])])
        // The stored size counts.
        let escaped = String(repeating: "\\u4e16", count: 42)
        #expect(try decoder.plain("{\"\(escaped)\":1}")[0].fields.count == 1)

        let long = [key + "a", key + "b", String(repeating: "世", count: 43)]
        let names = long.map { storableName($0, bytesMax: 128) }
        #expect(Set(names).count == 3)
        let members = long.map { #""\#($0)":"""# }.joined(separator: ",")
        let fields = names.map { [$0, ""] } + [["__truncated__", names.joined(separator: ",")]]
        #expect(try decoder.plain("{\(members)}") == [Read(fields)])

        #expect(
            try decoder.plain(#"{"":"x","a":{"":1}}"#) == [
                Read([["__empty__", "x"], ["a", #"{"":1}"#]])
            ]
        )
    }

    @Test("Logs that are set aside are whole, and the others go on")
    func kept() throws {
        let value = String(repeating: "v", count: limit + 1)
        let key = String(repeating: "k", count: 129)
        let body = #"{"a":1}{"b":"\#(value)"}{"\#(key)":2}{"c":3}{"b":"","b":"\#(value)"}"#
        let logs = try decoder.ruled(body, setAside)
        #expect(logs.count == 5)
        #expect(try logs.sound.read() == [Read([["a", "1"]]), Read([["c", "3"]])])
        #expect(
            logs.faulty.map(\.fault) == [
                .valueTooLong(field: "b", bytesMax: limit), .nameTooLong(bytesMax: 128),
            ]
        )
        #expect(logs.faulty.map(\.fault.code) == ["ValueTooLarge", "InvalidKey"])
        let large = Read([["b", value]])
        #expect(try logs.faulty[0].logs.read() == [large, large])
        #expect(try logs.faulty[1].logs.read() == [Read([[key, "2"]])])
    }

    @Test("Nothing of one body is in the next")
    func reuse() throws {
        let key = String(repeating: "k", count: 129)
        #expect(throws: LogDecodingError.self) {
            try decoder.ruled(#"{"\#(key)":1}{"\#(key)":1,"#, setAside)
        }
        let logs = try decoder.ruled(#"{"a":1}"#, setAside)
        #expect(try logs.sound.read() == [Read([["a", "1"]])])
        #expect(logs.count == 1)
    }

    // MARK: - More different fields than `limits.log_fields`

    private static let limits = {
        var limits = LogLimits()
        limits.fields = 100
        return limits
    }()
    private static let reason = "a log has more than 100 different fields (limits.log_fields)"
    private let timing = BatchTiming(arrival: arrival)

    private func members(_ count: Int) -> String {
        (0..<count).map { "\"n\($0)\":0" }.joined(separator: ",")
    }

    /// The reason for which a body with a log of so many fields is refused.
    private func reason(_ read: () throws -> Void) -> String? {
        do {
            try read()
            return nil
        } catch let error as LogDecodingError {
            return error.reason
        } catch let fault as SplunkFault {
            return fault.cause.reason
        } catch {
            return "\(error)"
        }
    }

    @Test("JSON in all its forms", arguments: [(100, false), (101, true), (5000, true)])
    func json(count: Int, isRefused: Bool) throws {
        let decoder = JSONLogDecoder(limits: Self.limits)
        let log = "{\(members(count))}"
        let expected = isRefused ? Self.reason : nil
        func refused(_ text: String, _ read: (UnsafeRawBufferPointer) throws -> Void) -> String? {
            reason { try padded(Array(text.utf8), read) }
        }
        #expect(refused(log) { _ = try decoder.decodePlain(LogBody($0, timing)) } == expected)
        #expect(
            refused("{\"__logs__\":[\(log)]}") {
                _ = try decoder.decodeTracking(LogBody($0, timing))
            }
                == expected
        )
        #expect(
            refused("{\"event\":\"x\",\"fields\":\(log)}") {
                _ = try decoder.decodeSplunk(LogBody($0, timing))
            }
                == (count < 100 ? nil : Self.reason)
        )
        let push = "{\"streams\":[{\"stream\":{},\"values\":[[\"1\",\"x\",\(log)]]}]}"
        #expect(
            refused(push) { _ = try decoder.decodeLoki(LogBody($0, timing)) }
                == (count < 100 ? nil : Self.reason)
        )
        // Of `_bulk` it costs the document, and no other.
        let bulk = try decoder.bulk("{\"index\":{}}\n\(log)\n{\"index\":{}}\n{}\n", index: "a")
        let faults = bulk.items.items.map { item in
            if case .unreadable(let number) = item.outcome {
                return bulk.items.fault(number).reason
            }
            return ""
        }
        #expect(faults == [expected ?? "", ""])
        // The next log starts with a new count.
        #expect(
            refused("{\(members(100))}") { _ = try decoder.decodePlain(LogBody($0, timing)) } == nil
        )
    }

    @Test("PutLogs, copied as it is and written field by field", arguments: [100, 101])
    func putLogs(count: Int) throws {
        let decoder = PutLogsDecoder(limits: Self.limits)
        let contents = (0..<count).flatMap { Wire.bytes(2, Wire.pair("n\($0)", "v")) }
        let expected = count > 100 ? Self.reason : nil
        for time in [Wire.number(1, UInt64(arrivalSeconds)), []] {
            #expect(reason { _ = try decoder.logs([time + contents]) } == expected)
        }
    }

    @Test("A name repeated many times is one field")
    func repeated() throws {
        let decoder = JSONLogDecoder(limits: Self.limits)
        let log =
            "{\(members(90)),\(Array(repeating: "\"n1\":1", count: 1000).joined(separator: ","))}"
        let logs = try padded(Array(log.utf8)) { try decoder.decodePlain(LogBody($0, timing)) }
        #expect(try logs.sound.read()[0].fields.count == 90)
    }
}

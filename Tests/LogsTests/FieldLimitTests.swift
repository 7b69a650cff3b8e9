import Testing

@testable import Logs

/// A log with more different fields than `limits.log_fields` is refused by each decoder.
@Suite struct FieldLimitTests {
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
        func take(of text: String, _ read: (UnsafeRawBufferPointer) throws -> Void) throws {
            let bytes = Array(text.utf8) + Array(repeating: 0, count: 64)
            try bytes.withUnsafeBytes {
                try read(UnsafeRawBufferPointer(rebasing: $0[..<($0.count - 64)]))
            }
        }
        func refused(_ text: String, _ read: (UnsafeRawBufferPointer) throws -> Void) -> String? {
            reason { try take(of: text, read) }
        }
        #expect(refused(log) { _ = try decoder.decodePlain($0, timing) } == expected)
        #expect(
            refused("{\"__logs__\":[\(log)]}") {
                _ = try decoder.decodeTracking($0, timing)
            }
                == expected
        )
        #expect(
            refused("{\"event\":\"x\",\"fields\":\(log)}") {
                _ = try decoder.decodeSplunk($0, timing)
            }
                == (count < 100 ? nil : Self.reason)
        )
        let push = "{\"streams\":[{\"stream\":{},\"values\":[[\"1\",\"x\",\(log)]]}]}"
        #expect(
            refused(push) { _ = try decoder.decodeLoki($0, timing) }
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
        #expect(refused("{\(members(100))}") { _ = try decoder.decodePlain($0, timing) } == nil)
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
        let bytes = Array(log.utf8) + Array(repeating: 0, count: 64)
        let logs = try bytes.withUnsafeBytes {
            try decoder.decodePlain(UnsafeRawBufferPointer(rebasing: $0[..<log.utf8.count]), timing)
        }
        #expect(try logs.sound.read()[0].fields.count == 90)
    }
}

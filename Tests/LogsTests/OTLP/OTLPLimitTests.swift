import Testing

@testable import Logs

@Suite struct OTLPLimitTests {
    private let decoders = OTLPPair()

    private func fault(_ body: [UInt8], atMost bytesMax: Int = .max) -> LogDecodingError? {
        do throws(LogDecodingError) {
            _ = try decoders.read(body, atMost: bytesMax)
            return nil
        } catch {
            return error
        }
    }

    private func fault(json: String, atMost bytesMax: Int = .max) -> LogDecodingError? {
        do throws(LogDecodingError) {
            _ = try decoders.read(json: json, atMost: bytesMax)
            return nil
        } catch {
            return error
        }
    }

    @Test("A request that is cut off is refused, wherever that is")
    func cut() {
        let (body, json) = (RealRequest.protobuf, Array(RealRequest.json.utf8))
        // All of it is one field.
        for end in 1..<body.count {
            let fault = fault(Array(body[..<end]))
            #expect(fault != nil && 0...end ~= fault!.position, "\(end)")
        }
        for end in 0..<json.count {
            let text = String(decoding: json[..<end], as: UTF8.self)
            let fault = fault(json: text)
            #expect(fault != nil && 0...text.utf8.count ~= fault!.position, "\(text)")
        }
    }

    /// Each message, the fields around it, its own fields and their wire types.
    private static let messages: [(name: String, path: [UInt64], types: [UInt64: UInt64])] = [
        ("ExportLogsServiceRequest", [], [1: 2]), ("ResourceLogs", [1], [1: 2, 2: 2, 3: 2]),
        ("Resource", [1, 1], [1: 2]), ("ScopeLogs", [1, 2], [1: 2, 2: 2, 3: 2]),
        ("InstrumentationScope", [1, 2, 1], [1: 2, 2: 2, 3: 2, 4: 0]),
        (
            "LogRecord", [1, 2, 2],
            [1: 1, 2: 0, 3: 2, 5: 2, 6: 2, 7: 0, 8: 5, 9: 2, 10: 2, 11: 1, 12: 2]
        ),
        ("KeyValue", [1, 2, 2, 6], [1: 2, 2: 2]),
        ("AnyValue", [1, 2, 2, 5], [1: 2, 2: 0, 3: 0, 4: 1, 5: 2, 6: 2, 7: 2]),
        ("ArrayValue", [1, 2, 2, 5, 5], [1: 2]), ("KeyValueList", [1, 2, 2, 5, 6], [1: 2]),
    ]

    @Test("Fields of another type are refused with their place", arguments: 0..<10)
    func types(index: Int) {
        let (name, path, types) = Self.messages[index]
        for field in (1...14) as ClosedRange<UInt64> {
            for type in [0, 1, 2, 5] as [UInt64] {
                let field64 = Wire.any(field, type: type)
                let content = type == 2 ? Wire.bytes(field, []) : field64
                let body = path.reversed().reduce(content) { Wire.bytes($1, $0) }
                let fault = fault(body)
                if let wanted = types[field], wanted != type {
                    #expect(fault?.position == 2 * path.count, "\(name) \(field) \(type)")
                    #expect(
                        fault?.reason == "field \(field) of \(name) has another type than it should"
                    )
                } else {
                    #expect(fault == nil, "\(name) \(field) \(type)")
                }
            }
        }
    }

    private static func nested(_ depth: Int, arrays: Bool) -> SampleValue {
        (1..<depth).reduce(.boolean(true)) { value, _ in
            arrays ? .array([value]) : .pairs([("k", value)])
        }
    }

    @Test("Values may be nested 64 deep, and no deeper", arguments: [true, false])
    func depth(arrays: Bool) throws {
        let deep = SampleRequest(.init(body: Self.nested(64, arrays: arrays)))
        let log = try #require(try decoders.read(deep.protobuf()).sound.read().first)
        #expect(log.fields == deep.fields[0])
        #expect(try decoders.read(json: deep.json()).sound.read() == [log])
        let deeper = SampleRequest(.init(body: Self.nested(65, arrays: arrays)))
        #expect(fault(deeper.protobuf())?.reason == "values are nested deeper than 64")
        #expect(fault(json: deeper.json())?.reason.hasSuffix("deeper than 64") == true)
        // However deep: the stack is not the limit.
        let deepest = SampleRequest(.init(body: Self.nested(400, arrays: arrays)))
        #expect(fault(deepest.protobuf()) != nil)
        #expect(fault(json: deepest.json()) != nil)
    }

    @Test("Values may stand in front of their keys, but not at any cost")
    func disorder() throws {
        func body(_ depth: Int) -> String {
            let list = String(repeating: "{},", count: 1000)
            let leaf = #"{"arrayValue":{"values":[\#(list){}]}}"#
            let value = (0..<depth).reduce(leaf) { value, _ in
                #"{"kvlistValue":{"values":[{"value":\#(value),"key":"k"}]}}"#
            }
            return #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":\#(value)}]}]}]}"#
        }
        let log = try #require(try decoders.read(json: body(3)).sound.read().first)
        let content = try #require(log.fields.first { $0[0] == "content" })
        #expect(content[1].hasPrefix(#"{"k":{"k":{"k":[null,null,"#))
        #expect(fault(json: body(60))?.reason.contains("write those first") == true)
        // In the usual order nothing is passed.
        let deep = SampleRequest(.init(attributes: [("k", Self.nested(60, arrays: false))]))
        let resource = SampleRequest([(deep.resources[0].scopes[0].records[0].attributes, [])])
        #expect(fault(json: deep.json()) == nil && fault(json: resource.json()) == nil)
    }

    @Test("Too many logs are refused")
    func count() throws {
        var limits = LogLimits()
        limits.logs = 3
        let (protobuf, json) = (OTLPDecoder(limits: limits), JSONLogDecoder(limits: limits))
        let timing = BatchTiming(arrival: arrival)
        for count in [3, 4] {
            let scope = SampleRequest.Scope(records: .init(repeating: .init(), count: count))
            let request = SampleRequest([([], [scope])])
            let taken = try? padded(request.protobuf()) { try protobuf.decode($0, timing) }
            let same = try? padded(Array(request.json().utf8)) { try json.decodeOTLP($0, timing) }
            #expect(taken?.count == (count == 3 ? 3 : nil))
            #expect(same == taken)
        }
    }

    @Test("A large resource with many small logs is refused before it fills the memory")
    func amplification() {
        let large = String(repeating: "v", count: 100_000)
        let scope = SampleRequest.Scope(records: .init(repeating: .init(), count: 300))
        let request = SampleRequest([([("a", .string(large))], [scope])])
        let reason =
            "the logs, each with what its resource says, take more than 20000000 bytes; send smaller batches"
        #expect(fault(request.protobuf(), atMost: 20_000_000)?.reason == reason)
        #expect(fault(json: request.json(), atMost: 20_000_000)?.reason == reason)
        #expect(fault(request.protobuf(), atMost: 40_000_000) == nil)
    }

    @Test(
        "JSON that is none of OTLP is refused with its place",
        arguments: [
            ("[]", 0, "object"), (#"{"resourceLogs":{}}"#, 16, "array"),
            (#"{"resource_logs":[]}"#, 17, "lowerCamelCase"),
            (#"{"resourceLogs":[1]}"#, 17, "object"),
            ("{} {}", 3, "nothing may follow"), (#"{"new":[}}"#, 8, "value"),
        ]
    )
    func requests(body: String, position: Int, reason: String) {
        let fault = fault(json: body)
        #expect(fault?.position == position && fault?.reason.contains(reason) == true, "\(fault!)")
    }

    @Test(
        "Members of another kind are refused with their place",
        arguments: [
            (#""timeUnixNano":-1"#, "whole number"), (#""timeUnixNano":1.5"#, "whole number"),
            (#""timeUnixNano":"x""#, "whole number"), (#""timeUnixNano":"""#, "whole number"),
            (#""timeUnixNano":18446744073709551616"#, "whole number"),
            (#""timeUnixNano":true"#, "whole number"), (#""flags":4294967296"#, "whole number"),
            (#""severityNumber":"SEVERITY_NUMBER_INFO""#, "whole number"),
            (#""severityText":1"#, "string"), (#""traceId":"5g""#, "hexadecimal"),
            (#""traceId":"abc""#, "hexadecimal"), (#""body":"text""#, "object"),
            (#""body":{"stringValue":1}"#, "string"), (#""body":{"boolValue":"true"}"#, "true or"),
            (#""body":{"boolValue":tru}"#, "true, false"), (#""body":{"intValue":1e3}"#, "whole"),
            (#""body":{"intValue":9223372036854775808}"#, "whole number"),
            (#""body":{"doubleValue":"0x1p3"}"#, "a number"),
            (#""body":{"doubleValue":1e400}"#, "a number"),
            (#""body":{"doubleValue":"nan"}"#, "a number"),
            (#""body":{"bytesValue":"A"}"#, "base64"), (#""body":{"bytesValue":"A*=="}"#, "base64"),
            (#""body":{"arrayValue":[]}"#, "object"),
            (#""body":{"kvlistValue":{"values":{}}}"#, "array"),
            (#""body":{"intValue":1,"boolValue":true}"#, "one kind"),
            (#""attributes":{}"#, "array"), (#""attributes":[{"key":1}]"#, "string"),
            (#""attributes":[{"key":"a","value":1}]"#, "object"),
            (#""attributes":[{"key":"a","key":"b"}]"#, "only once"),
            (#""body":{"stringValue":"\x"}"#, "escape"), (#""new":[1,]"#, "value"),
        ]
    )
    func members(member: String, reason: String) {
        let body = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{\#(member)}]}]}]}"#
        let fault = fault(json: body)
        #expect(fault?.reason.contains(reason) == true, "\(fault?.reason ?? "taken")")
        #expect((fault?.position ?? 0) > 46)
    }
}

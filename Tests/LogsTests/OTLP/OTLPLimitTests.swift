import Testing

@testable import Logs

@Suite struct OTLPLimitTests {
    private let decoders = OTLPPair()

    private func fault(_ body: [UInt8], atMost bytesMax: Int = .max) -> LogDecodingError? {
        refusal(try decoders.groups(body, atMost: bytesMax))
    }

    private func fault(json: String, atMost bytesMax: Int = .max) -> LogDecodingError? {
        refusal(try decoders.groups(json: json, atMost: bytesMax))
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
            let taken = try? padded(request.protobuf()) { try protobuf.decode(LogBody($0, timing)) }
            let same = try? padded(Array(request.json().utf8)) {
                try json.decodeOTLP(LogBody($0, timing))
            }
            #expect(taken.map(OTLPPair.only)?.count == (count == 3 ? 3 : nil))
            #expect(same.map(OTLPPair.only) == taken.map(OTLPPair.only))
        }
    }

    @Test("Texts that many logs share become tags when repeating would be too much")
    func amplification() throws {
        let large = String(repeating: "v", count: 100_000)
        let records = [SampleRequest.Record](repeating: .init(body: .string("b")), count: 300)
        let shared = [("a", SampleValue.string(large)), ("service.name", .string("shop"))]
        let scopes = [
            SampleRequest.Scope(name: "n", records: records), .init(records: [.init()]),
        ]
        let request = SampleRequest([(shared, scopes), ([], [.init(records: records)])])
        for groups in [
            try decoders.groups(request.protobuf(), atMost: 1_000_000),
            try decoders.groups(json: request.json(), atMost: 1_000_000),
        ] {
            #expect(groups.map(\.logs.count) == [300, 301])
            let tags = groups.map { $0.tags.map(\.key) }
            #expect(tags == [["service", "otlp.name", "resource"], []])
            #expect(groups[0].tags.last?.value == "{\"a\":\"\(large)\"}")
            let apart = try groups[0].logs.sound.read()
            #expect(apart.allSatisfy { $0.fields == [["content", "b"]] })
            // One log repeats nothing, and logs without a resource have nothing to repeat.
            let others = try groups[1].logs.sound.read().map(\.fields)
            #expect(others[0].map { $0[0] } == ["service", "resource"])
            #expect(others[1...].allSatisfy { $0 == [["content", "b"]] })
        }
        #expect(try decoders.groups(request.protobuf(), atMost: 40_000_000).count == 1)
    }

    @Test("Logs that are too large even in the lean form are refused with their own reason")
    func tooLarge() throws {
        // Escaped control characters take six times their size in JSON.
        let control = String(repeating: "\u{1}", count: 10_000)
        let own = SampleRequest(.init(attributes: [("a", .string(control))]))
        let shared = SampleRequest([([("a", .string(control))], [.init(records: [.init()])])])
        let unused = SampleRequest([([("a", .string(control))], [])])
        for request in [own, shared, unused] {
            for fault in [
                fault(request.protobuf(), atMost: 30_000),
                fault(json: request.json(), atMost: 30_000),
            ] {
                #expect(fault?.kind == .tooLarge)
                #expect(
                    fault?.reason
                        == "the logs take more than 30000 bytes as they are stored; send smaller batches"
                )
            }
            #expect(fault(request.protobuf(), atMost: 70_000) == nil)
            #expect(fault(json: request.json(), atMost: 70_000) == nil)
        }
    }

    @Test(
        "No log counts as less than its stored size, also set aside or last",
        arguments: [LogRules.Late.rewrite, .setAside]
    )
    func exact(late: LogRules.Late) {
        let rules = LogRules(times: .sls, late: late)
        for bytesMax in 900..<1300 {
            let record = SampleRequest.Record(time: 1, body: .string("b"))
            let scope = SampleRequest.Scope(records: Array(repeating: record, count: 20))
            let request = SampleRequest([([], [scope])])
            for groups in [
                try? decoders.groups(request.protobuf(), rules, atMost: bytesMax),
                try? decoders.groups(json: request.json(), rules, atMost: bytesMax),
            ] {
                let bytes = groups?.reduce(0) { $0 + $1.logs.bytes } ?? 0
                #expect(bytes <= bytesMax)
            }
        }
    }

    @Test("Repaired text counts with its repaired size")
    func repaired() throws {
        let broken = Wire.bytes(1, [UInt8](repeating: 0xFF, count: 10_000))
        let attribute = Wire.bytes(1, Wire.pair(Array("a".utf8), broken))
        let records = [[UInt8]](repeating: Wire.bytes(2, []), count: 10).flatMap { $0 }
        let body = Wire.bytes(1, Wire.bytes(1, attribute) + Wire.bytes(2, records))
        let fields = try decoders.read(body).sound.read().map(\.fields)
        let shown = "{\"a\":\"\(String(repeating: "\u{FFFD}", count: 10_000))\"}"
        #expect(fields.count == 10)
        for log in fields {
            #expect(log.contains(["resource", shown]))
            #expect(log.last == ["__invalid_utf8__", "resource"])
        }
        let groups = try decoders.groups(body, atMost: 200_000)
        #expect(groups.map(\.logs.count) == [10])
        #expect(
            groups.first?.tags.map { [$0.key, $0.value] }
                == [["resource", shown], ["__invalid_utf8__", "resource"]]
        )
        #expect(try groups.first?.logs.sound.read().allSatisfy { $0.fields.isEmpty } == true)
        #expect(fault(body, atMost: 29_000)?.kind == .tooLarge)
    }

    @Test("Groups with tags are bounded; records beyond the bound repeat their shared texts")
    func groups() throws {
        let shared = String(repeating: "r", count: 2100)
        let records = [SampleRequest.Record](repeating: .init(severityText: "I"), count: 9)
        let request = SampleRequest(
            (0..<1030).map { ([("a", .string("\($0)" + shared))], [.init(records: records)]) }
        )
        let groups = try decoders.groups(request.protobuf(), atMost: 4 << 20)
        #expect(groups.count == 1025)
        #expect(groups.prefix(1024).allSatisfy { $0.logs.count == 9 && $0.tags.count == 1 })
        #expect(groups[1024].logs.count == 54 && groups[1024].tags.isEmpty)
    }

    @Test(
        "Logs under former or foreign names are read or refused, never ignored",
        arguments: [
            (#"{"resourceLogs":[{"instrumentationLibraryLogs":[]}]}"#, "before 0.15"),
            (#"{"resource_logs":[{"instrumentation_library_logs":[]}]}"#, "before 0.15"),
            (#"{"resourceSpans":[]}"#, "no logs"), (#"{"resource_metrics":[]}"#, "no logs"),
        ]
    )
    func otherNames(body: String, reason: String) {
        #expect(fault(json: body)?.reason.contains(reason) == true)
    }

    @Test("OTLP's former name for scopes is refused in protobuf, too")
    func formerScopes() {
        let former = Wire.bytes(1000, Wire.bytes(2, Wire.bytes(5, [])))
        let fault = fault(Wire.bytes(1, Wire.bytes(1, []) + former))
        #expect(fault?.position == 4)
        #expect(fault?.reason.contains("instrumentationLibraryLogs") == true)
    }

    @Test("Names as the schema has them mean the same")
    func schemaNames() throws {
        let request = SampleRequest([
            (
                [("a", .string("s")), ("b", .boolean(true)), ("c", .integer(-1))],
                [
                    .init(
                        name: "n",
                        records: [
                            .init(
                                time: 5_000_000_000,
                                observedTime: 6,
                                severityNumber: 9,
                                severityText: "I",
                                body: .array([.double(0.5, "0.5"), .bytes([1], base64: "AQ==")]),
                                attributes: [("p", .pairs([("q", .empty)]))],
                                droppedAttributes: 2,
                                traceID: [0xAB],
                                spanID: [0xCD],
                                eventName: "e"
                            )
                        ]
                    )
                ]
            )
        ])
        var json = request.json()
        for name in [
            "resourceLogs", "scopeLogs", "logRecords", "timeUnixNano", "observedTimeUnixNano",
            "severityNumber", "severityText", "droppedAttributesCount", "traceId", "spanId",
            "eventName", "stringValue", "boolValue", "intValue", "doubleValue", "arrayValue",
            "kvlistValue", "bytesValue",
        ] {
            let schema = name.flatMap { $0.isUppercase ? "_" + $0.lowercased() : String($0) }
            #expect(json.contains(quoted(name)))
            json.replace(quoted(name), with: quoted(String(schema)))
        }
        #expect(try decoders.read(json: json) == decoders.read(request.protobuf()))
    }

    @Test(
        "JSON that is none of OTLP is refused with its place",
        arguments: [
            ("[]", 0, "object"), (#"{"resourceLogs":{}}"#, 16, "array"),
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
            (#""body":{"boolValue":tru}"#, "true, false"), (#""body":{"intValue":1e30}"#, "whole"),
            (#""body":{"intValue":12e-1}"#, "whole"), (#""body":{"intValue":"1."}"#, "whole"),
            (#""body":{"intValue":-9.3e18}"#, "whole"), (#""flags":0.1"#, "whole"),
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

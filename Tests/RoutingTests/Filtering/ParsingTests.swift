import Testing

@testable import Routing

@Suite struct ParsingTests {
    private func parse(
        _ text: String,
        _ format: Parsing.Format,
        prefix: String = "",
        others: FilterBench.Fields = []
    ) throws -> [String]? {
        let parsing = Parsing(field: "v", format, prefix: prefix, removesSource: true)
        let bench = try FilterBench(FilterStep(.parse(parsing)), onError: .drop)
        return try bench.result([("v", text)] + others)
    }

    @Test func membersOfAnObjectBecomeFields() throws {
        let text =
            #" {"a":"x\n\u00e9\ud83d\ude00\ud83d","b" : 1.5e3,"c":true,"d":null,"e":{"f":[1,{}]},"a":"last"} "#
        #expect(
            try parse(text, .json, prefix: "p.") == [
                "p.a=last", "p.b=1.5e3", "p.c=true", "p.d=", #"p.e={"f":[1,{}]}"#,
            ]
        )
        #expect(try parse(#"{"a":"\u00e9\ud83d\ude00\ud83dx"}"#, .json) == ["a=é😀\u{FFFD}x"])
        #expect(try parse("{}", .json, others: [("x", "1")]) == ["x=1"])
    }

    @Test("Members replace fields, and may have the name of the parsed one")
    func membersReplaceFields() throws {
        #expect(
            try parse(#"{"v":"new","x":"2"}"#, .json, others: [("x", "1")]) == ["x=2", "v=new"]
        )
    }

    @Test(arguments: [
        "", "{", "[]", "1", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":01}"#, #"{"a":1}x"#,
        #"{"a":"\x"}"#, #"{"a":[1,]}"#, #"{"a":[}]}"#, #"{"a":{"b"}}"#, "{\"a\":\"\u{1}\"}",
        #"{"a":nul}"#, #"{"a":1 "b":2}"#, #"{,}"#, #"{"a":.5}"#, #"{"a":[1 2]}"#, #"{"a":"\ud8"}"#,
    ])
    func whatIsNoObjectFails(text: String) throws {
        #expect(try parse(text, .json) == nil)
    }

    @Test func nestingAndMembersHaveABound() throws {
        func nested(_ depth: Int) -> String {
            #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
                + "}"
        }
        #expect(try parse(nested(63), .json) != nil)
        #expect(try parse(nested(64), .json) == nil)
        func members(_ count: Int) -> String {
            "{" + (0..<count).map { "\"m\($0)\":1" }.joined(separator: ",") + "}"
        }
        #expect(try parse(members(64), .json)?.count == 64)
        #expect(try parse(members(65), .json) == nil)
    }

    @Test func pairsBecomeFields() throws {
        let text = #" level=info msg="a \"b\" c" word =x empty= url=a=b "#
        #expect(
            try parse(text, .keyValue) == [
                "level=info", #"msg=a "b" c"#, "empty=", "url=a=b",
            ]
        )
        #expect(try parse("no pairs", .keyValue) == nil)
        #expect(try parse(#"a="open"#, .keyValue) == nil)
    }

    @Test func namedGroupsBecomeFields() throws {
        let pattern = try TextPattern(#"(?P<method>GET|PUT) (?P<path>\S+)( (?P<more>\d+))?"#)
        #expect(try parse("x GET /a b", .regex(pattern)) == ["method=GET", "path=/a"])
        #expect(
            try parse("PUT /a 12", .regex(pattern), prefix: "h_") == [
                "h_method=PUT", "h_path=/a", "h_more=12",
            ]
        )
        #expect(try parse("POST /", .regex(pattern)) == nil)
    }

    @Test func aLogWithoutTheFieldStays() throws {
        let bench = try FilterBench(
            FilterStep(.parse(Parsing(field: "none", .json))),
            onError: .drop
        )
        #expect(try bench.result([("a", "1")]) == ["a=1"])
    }
}

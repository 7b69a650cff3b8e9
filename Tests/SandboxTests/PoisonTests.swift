import HTTP
import Testing

@testable import Sandbox

@Suite struct PoisonTests {
    private static let poison = #"{"key":"bad","code":"InvalidKey","message":"no"}"#

    private func write(_ key: String) -> TestWrite {
        var write = TestWrite()
        write.raw =
            TestGroup(logs: [
                .init(fields: [("fine", "1")]), .init(fields: [(key, "1")]),
            ]).bytes
        return write
    }

    @Test("One log with a poisoned field makes SLS refuse its whole request")
    func refuses() throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("POST", "/poisons", Self.poison).status == 200)
        let refused = try sandbox.put(write("bad"))
        #expect(refused.status == 400)
        #expect(refused.errorCode == "InvalidKey")
        #expect(try sandbox.put(write("good")).status == 200)
        let stats = try sandbox.control("GET", "/stats").json
        #expect(stats?["stored"]?["logs"]?.integer == 2)
    }

    @Test("Poisons are listed and removed")
    func lists() throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("POST", "/poisons", #"{"key":"a"}"#).status == 200)
        let text = try sandbox.control("GET", "/poisons").text
        #expect(text.contains(#""key":"a","status":400,"code":"PostBodyInvalid""#), "\(text)")
        #expect(try sandbox.control("DELETE", "/poisons").text == "{\"poisons\":[]}\n")
        #expect(try sandbox.put(write("a")).status == 200)
    }

    @Test(
        "What cannot be a poison is refused",
        arguments: ["{}", #"{"key":"a","code":"Unheard"}"#, #"{"key":"a","status":500}"#]
    )
    func malformed(body: String) throws {
        let sandbox = try Sandbox.forTests()
        #expect(try sandbox.control("POST", "/poisons", body).status == 400)
    }
}

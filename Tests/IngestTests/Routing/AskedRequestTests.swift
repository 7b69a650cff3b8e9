import Routing
import Testing

@testable import Ingest

@Suite struct AskedRequestTests {
    private func text(of part: RequestPart, _ request: String) throws -> String? {
        let asked = try #require(AskedRequest(request))
        return asked.text(of: part).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("A parameter exists even if its value cannot be decoded")
    func undecodable() throws {
        #expect(try text(of: .query("debug"), "GET /logs/x?debug=%ff") == "%ff")
        #expect(try text(of: .query("debug"), "GET /logs/x?debug=%31") == "1")
        #expect(try text(of: .query("debug"), "GET /logs/x?other=1") == nil)
    }

    @Test("A host is a name in lower case without port and last dot")
    func host() throws {
        for host in ["Shop.example", "shop.example:8080", "shop.example.", "shop.example.:80"] {
            #expect(try text(of: .host, "GET /\nhost: \(host)") == "shop.example")
        }
        #expect(try text(of: .host, "GET /\nhost: [::1]:80") == "[::1]")
    }
}

import Configuration
import Net
import Testing

@testable import CLI

@Suite(.timeLimit(.minutes(1))) struct AdminClientTests {
    /// What a client says of a gateway that takes a request and never answers.
    func complaint(_ method: AdminRequest.Method) throws -> String {
        let listener = try Listener(ListenAddress(parsing: "127.0.0.1:0"))
        let client = AdminClient(
            AdminAccess(address: listener.address, token: nil),
            patience: .seconds(1)
        )
        let error = #expect(throws: AdminClient.Unreachable.self) {
            try client.ask(AdminRequest(method, "/admin/dead-letters/replay"))
        }
        withExtendedLifetime(listener) {}
        return error?.description ?? ""
    }

    @Test("A change that takes too long goes on, and the command says so and where to look")
    func change() throws {
        let text = try complaint(.post)
        #expect(text.contains("has not answered within 1 s, but it continues"), "\(text)")
        #expect(text.contains("sluice status"), "\(text)")
    }

    @Test("A question that is not answered in time changes nothing")
    func question() throws {
        let text = try complaint(.get)
        #expect(text.hasSuffix("has not answered within 1 s; try again when it is less busy"))
    }

    @Test("Where nobody listens the command says how to name the place")
    func nobody() throws {
        let access = AdminAccess(address: try ListenAddress(parsing: "127.0.0.1:1"), token: nil)
        let error = #expect(throws: AdminClient.Unreachable.self) {
            try AdminClient(access).ask(AdminRequest(.get, "/admin/status"))
        }
        #expect(error?.description.contains("no gateway answers at 127.0.0.1:1") == true)
    }
}

import HTTP
import System
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(1))) struct CrowdedIngestTests {
    @Test("Admin answers while devices hold every connection that they may")
    func crowded() throws {
        let trial = try TryOut { $0.limits.http.connectionsPerAddress = 8 }
        // Each that is taken waits for the end of its body, which does not come; every loop has its own.
        var held: [OpenConnection] = []
        let head = "POST /logs/slow HTTP/1.1\r\nhost: h\r\ncontent-length: 60000\r\n\r\n"
        for _ in 0..<64 { held.append(try trial.devices.opened(saying: head + "{")) }
        #expect(eventually { (try? trial.devices.get("/logs/x").status) == 503 })

        let token = ["authorization": "Bearer \(TryOut.token)"] as KeyValuePairs
        for _ in 0..<20 {
            #expect(try trial.admin("/admin/status").status == 200)
            #expect(try trial.admin("/metrics").status == 200)
            #expect(try trial.admin.get("/healthz").status == 200)
        }
        for verb in ["pause", "resume", "flush"] {
            let path = "/admin/destinations/default/\(verb)"
            #expect(try trial.admin.send("POST", path, [], token).status == 200)
        }
        withExtendedLifetime(held) {}
    }
}

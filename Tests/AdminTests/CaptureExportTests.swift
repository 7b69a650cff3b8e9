import Configuration
import Crypto
import Foundation
import Ingest
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Exports in pieces, and the memory of all captures.
@Suite(.timeLimit(.minutes(1))) struct CaptureExportTests {
    private let json = SandboxedGateway.jsonHeaders

    /// Captures so many requests of some 50 KiB, and returns the capture's id.
    private func capture(_ count: Int, in trial: SandboxedGateway) throws -> String {
        let id = try trial.startCapture(#"{"records":1000,"bytes":67108864}"#)
        let members = (0..<50).map { #""f\#($0)":"\#(String(repeating: "x", count: 1000))""# }
        let log = Array("{\(members.joined(separator: ","))}".utf8)
        for _ in 0..<count {
            #expect(try trial.devices.post("/logs/app", log).status == 200)
        }
        return id
    }

    @Test("An archive and an export of many records are whole documents")
    func pieces() throws {
        let trial = try SandboxedGateway()
        let id = try capture(30, in: trial)
        #expect(eventually { (try? trial.captureEntries(id).count) == 30 })
        let log = try #require(
            try trial.object("/admin/captures/\(id)/har")["log"] as? [String: Any]
        )
        let entries = try #require(log["entries"] as? [[String: Any]])
        let own = entries.compactMap { $0["_sluice"] as? [String: Any] }
        let numbers = own.filter { $0["role"] as? String == "ingest" }.map { $0["record"] as? Int }
        #expect(numbers == Array(1...30))
        let export = try trial.admin("/admin/captures/\(id)/export")
        #expect(export["content-type"] == "application/x-ndjson")
        let lines = export.lines
        #expect(lines.count == 30)
        for line in lines {
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(line.utf8))
            }
        }
        let empty = try trial.startCapture()
        let nothing = try trial.object("/admin/captures/\(empty)/har")["log"] as? [String: Any]
        #expect((nothing?["entries"] as? [Any])?.isEmpty == true)
        let token: KeyValuePairs = ["authorization": "Bearer \(SandboxedGateway.token)"]
        let head = try trial.admin.send("HEAD", "/admin/captures/\(id)/har", [UInt8](), token)
        #expect(head.status == 200 && head.body.isEmpty)
    }

    @Test("Clients that do not read their exports hold no thread, and two exports of each token")
    func unread() throws {
        let others = ["monitor", "backup"].map { "\($0)-0123456789abcdef0123456789" }
        let trial = try SandboxedGateway { configuration in
            for token in others {
                configuration.admin.tokens.append(
                    NamedToken(name: String(token.prefix(6)), secret: Secret(token), role: .read)
                )
            }
        }
        let id = try capture(60, in: trial)
        let path = "/admin/captures/\(id)/export"
        func begin(_ token: String) throws -> TestConnection {
            try trial.admin.opened(
                sending: "GET \(path) HTTP/1.1\r\nhost: h\r\nauthorization: Bearer \(token)\r\n\r\n"
            )
        }
        func head(_ token: String) -> Int? {
            let fields: KeyValuePairs = ["authorization": "Bearer \(token)"]
            return try? trial.admin.send("HEAD", path, [UInt8](), fields).status
        }
        let token = SandboxedGateway.token
        let lazy = try (0..<AdminShares(4).ofToken).map { _ in try begin(token) }
        for each in lazy { #expect(each.receives("200")) }
        // The thread for long reads is free for others.
        let test = try trial.admin.post("/admin/routes/test", #"{"tag":"a"}"#.utf8, json)
        #expect(test.status == 200, "\(test.text)")
        let refused = try trial.admin(path)
        #expect(refused.status == 503 && refused.text.contains("of a token"), "\(refused.text)")
        // Another token has its own, until all are taken.
        let more = try (0..<AdminShares(4).ofToken).map { _ in try begin(others[0]) }
        for each in more { #expect(each.receives("200")) }
        #expect(head(others[1]) == 503)
        // Each gateway counts its own.
        let other = try SandboxedGateway()
        let its = try capture(1, in: other)
        #expect(try other.admin("/admin/captures/\(its)/export").status == 200)
        for each in lazy { each.reset() }
        #expect(eventually { head(token) == 200 && head(others[1]) == 200 })
    }

    @Test("All captures together keep limits.captures, and removing one makes room")
    func budget() throws {
        let trial = try SandboxedGateway { $0.limits.captureBytes = 1 << 20 }
        let id = try capture(20, in: trial)
        func object(_ id: String) throws -> [String: Any] {
            try trial.object("/admin/captures/\(id)")
        }
        #expect(eventually { (try? object(id)["state"] as? String) == "full" })
        // Another one takes what is left for small requests, and then has nothing.
        let small = try trial.startCapture(#"{"records":1000}"#)
        for _ in 0..<200 where try object(small)["state"] as? String == "running" {
            #expect(try trial.devices.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
        }
        let bytes = trial.gateway.report.looks.captureBytes
        #expect((900 << 10...1 << 20).contains(bytes), "\(bytes)")
        #expect(try trial.admin("/metrics").text.contains("\nsluice_captures_bytes \(bytes)\n"))
        let path = "/admin/captures"
        let token: KeyValuePairs = ["authorization": "Bearer \(SandboxedGateway.token)"]
        func start() throws -> TestAnswer { try trial.admin.post(path, [UInt8]("{}".utf8), json) }
        var last = try start()
        for _ in 0..<20 where last.status == 201 {
            #expect(try trial.devices.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
            last = try start()
        }
        #expect(last.status == 409, "\(last.text)")
        #expect(try trial.admin.send("DELETE", "\(path)/\(id)", [UInt8](), token).status == 204)
        #expect(eventually { trial.gateway.report.looks.captureBytes < bytes / 2 })
    }
}

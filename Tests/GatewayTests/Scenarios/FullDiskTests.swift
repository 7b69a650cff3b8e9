import Configuration
import Credentials
import Crypto
import Glibc
import Net
import Queue
import SLS
import Sandbox
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Operators and a disk that others filled: admin keeps answering, and what it says is true.
@Suite(.timeLimit(.minutes(10))) struct FullDiskTests {
    static let canMount: Bool = {
        let probe = TemporaryDirectory()
        guard mount("tmpfs", probe.path, "tmpfs", 0, "size=64k") == 0 else { return false }
        return umount(probe.path) == 0
    }()

    private static let first = Credential(accessKeyID: "firstkeyid", secret: Secret("first-secret"))
    private static let second = Credential(
        accessKeyID: "secondkeyid",
        secret: Secret("second-secret")
    )

    private static let third = Credential(accessKeyID: "thirdkeyid", secret: Secret("third-secret"))

    let directory = TemporaryDirectory()
    let partner: SandboxPartner
    let sandbox: SandboxServer

    init() throws {
        partner = try SandboxPartner(.silent)
        sandbox = try SandboxServer(
            SandboxConfiguration(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                keys: [Self.first, Self.second, Self.third]
            ),
            journal: .silent
        )
    }

    private func gateway() throws -> Gateway {
        let endpoint = try Endpoint(parsing: "http://localhost:\(sandbox.address.port)")
        return try SandboxedGateway.gateway(partner, directory) {
            $0.queue.freeBytesMin = 0
            $0.encryptionKey = Secret(String(repeating: "5a", count: 32))
            $0.credentials["default"] = .fixed(Self.first)
            $0.destinations[0].endpoints = [endpoint]
        }
    }

    private func rotate(_ gateway: Gateway, _ name: String) throws -> TestAnswer {
        let body = #"{"AccessKeyId":"\#(name)keyid","AccessKeySecret":"\#(name)-secret"}"#
        return try gateway.ask("PUT", "/admin/credentials/default", body)
    }

    private func post(_ gateway: Gateway) throws -> Int {
        let noise = (0..<4096).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
        let body = #"{"noise":"\#(noise.joined())"}"#
        return try gateway.deviceClient.post("/logs/full", body.utf8).status
    }

    /// Takes all the space there is.
    private func fill() -> String {
        let path = directory.path + "/data/ballast"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        for size in [1 << 16, 1 << 10, 1] {
            let piece = [UInt8](repeating: 1, count: size)
            while write(file, piece, size) == size {}
        }
        close(file)
        return path
    }

    @Test(
        "While the disk is full admin answers, and a pause and a rotation are what the answer says",
        .enabled(if: canMount, "needs the right to mount a small file system")
    )
    func full() throws {
        let data = directory.path + "/data"
        mkdir(data, 0o700)
        try #require(mount("tmpfs", data, "tmpfs", 0, "size=8m") == 0)
        defer { umount2(data, CInt(MNT_DETACH)) }
        let gateway = try gateway()
        let destination = "/admin/destinations/default"
        let pause = destination + "/pause"
        #expect(try gateway.ask("POST", pause).status == 200)
        #expect(try gateway.ask("POST", destination + "/resume").status == 200)
        let ballast = fill()
        var posted = 200
        for _ in 0..<1000 where posted == 200 { posted = try post(gateway) }
        #expect(posted == 503)

        for path in [
            "/healthz", "/metrics", "/admin/status", "/admin/queue", "/admin/ledger",
            "/admin/routes", "/admin/credentials", "/admin/destinations", "/admin/openapi.json",
        ] {
            #expect(try gateway.ask("GET", path).status == 200, "\(path)")
        }
        #expect(try gateway.ask("POST", "/admin/routes/test", #"{"tag":"a"}"#).status == 200)
        let readiness = try gateway.ask("GET", "/readyz")
        #expect(readiness.status == 503 && readiness.text.contains("disk is full"))

        // The queue keeps some room to itself, in which what operators decide is stored for a
        // while.
        let resume = destination + "/resume"
        #expect(try gateway.ask("POST", pause).status == 200)
        #expect(gateway.decided.withLock { $0.held } == ["default"])
        #expect(try gateway.ask("POST", resume).status == 200)
        let stored = try rotate(gateway, "second")
        #expect(stored.status == 200 && stored.text.contains(#""stored":true"#), "\(stored.text)")

        // Until that is gone too.
        let tags = (0..<30).map { #""tag\#($0)":"\#(String(repeating: "x", count: 1000))""# }
        let patch = #"{"tags":{\#(tags.joined(separator: ","))}}"#
        var patched = try gateway.ask("PATCH", destination, patch)
        for round in 0..<2000 where patched.status == 200 {
            patched = try gateway.ask("PATCH", destination, #"{"topic":"\#(round)"}"#)
        }
        #expect(patched.status == 503, "\(patched.text)")
        #expect(patched.text.contains("the change cannot be stored and was not made"))

        // A pause that would not outlive a restart is none.
        let paused = try gateway.ask("POST", pause)
        #expect(paused.status == 503 && paused.text.contains("was not made"), "\(paused.text)")
        #expect(gateway.decided.withLock { $0.held.isEmpty })
        // A rotation is urgent: it is used, and the answer says for how long.
        let rotated = try rotate(gateway, "third")
        #expect(rotated.status == 200, "\(rotated.text)")
        #expect(
            rotated.text.contains(#""stored":false,"not_stored_because":"the disk"#),
            "\(rotated.text)"
        )
        #expect(gateway.keeper.credential(named: "default") == Self.third)
        // Taking it back would not last.
        #expect(try gateway.ask("DELETE", "/admin/credentials/default").status == 503)
        #expect(gateway.keeper.credential(named: "default") == Self.third)
        #expect(try gateway.ask("GET", "/admin/status").status == 200)

        unlink(ballast)
        #expect(eventually { (try? post(gateway)) == 200 })
        #expect(try gateway.ask("POST", pause).status == 200)
        gateway.stop(within: .zero)

        let again = try self.gateway()
        defer { again.stop(within: .zero) }
        #expect(again.decided.withLock { $0.held } == ["default"])
        #expect(again.keeper.credential(named: "default") == Self.second)
        #expect(again.report.queue.ledger.isClosed)
    }
}

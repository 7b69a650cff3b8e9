import Configuration
import Credentials
import Crypto
import HTTP
import Net
import SLS
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// A proof that takes its time, and what is decided meanwhile.
@Suite(.timeLimit(.minutes(1))) struct RotationOrderTests {
    private static let path = "/admin/credentials/default"

    let directory = TemporaryDirectory()
    let partner: SandboxPartner
    let receiver: RecordingServer

    init() throws {
        partner = try SandboxPartner(.silent)
        receiver = try RecordingServer { _, _ in nil }
    }

    private func gateway() throws -> Gateway {
        let endpoint = try Endpoint(parsing: receiver.url)
        return try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["default"] = .fixed(
                Credential(accessKeyID: "old", secret: Secret("canary-old"))
            )
            $0.destinations[0].endpoints = [endpoint]
        }
    }

    private func ask(
        _ gateway: Gateway,
        _ method: String,
        _ path: String = path,
        key: String = ""
    ) throws -> TestAnswer {
        let body = #"{"AccessKeyId":"\#(key)","AccessKeySecret":"canary-\#(key)"}"#
        return try TestClient(address: gateway.adminAddress).send(
            method,
            path,
            Array((method == "PUT" ? body : "").utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
    }

    private static var stored: Response {
        var response = Response(text: "")
        response.fields.append(("x-log-requestid", "5642FC2399248C8F7B0145FD"))
        return response
    }

    @Test(
        "What is decided while a proof takes its time is not undone by it",
        arguments: ["PUT", "DELETE"]
    )
    func order(method: String) throws {
        defer {
            receiver.stop()
            partner.stop()
        }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        if method == "DELETE" {
            #expect(try ask(gateway, "PUT", Self.path + "?force=true", key: "bad").status == 200)
        }
        let slow = Locked<Int?>(nil)
        let worker = try Worker("slow") { [self] in
            let status = try? ask(gateway, "PUT", key: "first").status
            slow.withLock { $0 = status }
        }
        #expect(eventually { receiver.requests.count == 1 })
        let path = method == "PUT" ? Self.path + "?force=true" : Self.path
        #expect(try ask(gateway, method, path, key: "second").status == 200)
        receiver.release(Self.stored)
        worker.join()
        #expect(slow.withLock { $0 } == 409)
        let inUse = gateway.keeper.credential(named: "default")
        #expect(inUse?.accessKeyID == (method == "PUT" ? "second" : "old"))
    }

    @Test("A proof without a concurrent change installs its credential")
    func undisturbed() throws {
        defer {
            receiver.stop()
            partner.stop()
        }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let worker = try Worker("release") { [self] in
            _ = eventually { receiver.requests.count == 1 }
            receiver.release(Self.stored)
        }
        #expect(try ask(gateway, "PUT", key: "first").status == 200)
        worker.join()
        #expect(gateway.keeper.credential(named: "default")?.accessKeyID == "first")
    }

    @Test("Two rotations proved one after the other both succeed, and the later one stays")
    func queued() throws {
        defer {
            receiver.stop()
            partner.stop()
        }
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let statuses = Locked<[Int?]>([])
        let first = try Worker("first") { [self] in
            let status = try? ask(gateway, "PUT", key: "first").status
            statuses.withLock { $0.append(status) }
        }
        #expect(eventually { receiver.requests.count == 1 })
        let second = try Worker("second") { [self] in
            let status = try? ask(gateway, "PUT", key: "second").status
            statuses.withLock { $0.append(status) }
        }
        receiver.release(Self.stored)
        first.join()
        #expect(eventually { receiver.requests.count == 2 })
        receiver.release(Self.stored)
        second.join()
        #expect(statuses.withLock { $0 } == [200, 200])
        #expect(gateway.keeper.credential(named: "default")?.accessKeyID == "second")
    }
}

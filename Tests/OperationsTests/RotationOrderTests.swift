import Configuration
import Credentials
import Crypto
import HTTP
import Ingest
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

/// RFC 9110, sections 8.8.3 and 13.1.1.
struct IfMatchTests {
    @Test(
        "Lists of entity tags are read as they may be written, and weak ones match nothing",
        arguments: [
            (#""a""#, [#""a""#]), (#""a", "b""#, [#""a""#, #""b""#]),
            (#""a","b" , , "c","#, [#""a""#, #""b""#, #""c""#]), (#""a,b""#, [#""a,b""#]),
            (#""""#, [#""""#]), (#"W/"a""#, []), (#"W/"a", "b""#, [#""b""#]),
            ("\"ü\"", ["\"ü\""]),
        ]
    )
    func lists(list: String, strong: [String]) {
        #expect(IfMatch(list: list) == .versions(strong))
    }

    @Test(
        "What is no such list is refused, so that no condition is lost",
        arguments: [
            "", " ", ",", "a", "\"a", "a\"", "\"a\" \"b\"", "\"a b\"", "*, \"a\"", "\"a\", *",
            "w/\"a\"",
            "W/ \"a\"", "W/a", "'a'", "\"a\u{7F}\"",
        ]
    )
    func wrong(list: String) {
        #expect(IfMatch(list: list) == nil)
    }

    @Test("If-Match * needs an existing version; a list needs the present one")
    func check() throws {
        try IfMatch.anything.check(nil)
        try IfMatch.whateverThereIs.check("\"a\"")
        try IfMatch.versions(["\"b\"", "\"a\""]).check("\"a\"")
        for (condition, version) in [
            (IfMatch.whateverThereIs, nil), (.versions(["\"a\""]), nil), (.versions([]), "\"a\""),
            (.versions(["\"b\""]), "\"a\""),
        ] {
            #expect(throws: HTTPProblem.self) { try condition.check(version) }
        }
    }
}

/// A proof that takes its time, and what is decided meanwhile.
@Suite(.timeLimit(.minutes(10))) struct RotationOrderTests {
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
        return try gateway.ask(method, path, method == "PUT" ? body : "")
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
        defer { receiver.stop() }
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
        defer { receiver.stop() }
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
        defer { receiver.stop() }
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

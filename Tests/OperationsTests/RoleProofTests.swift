import Configuration
import Credentials
import Crypto
import HTTP
import HTTPClient
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

/// A credential that nobody signs logs with: roles are asked for with it.
@Suite(.timeLimit(.minutes(10))) struct RoleProofTests {
    private static let arn = "acs:ram::1234567890123456:role/log-writer"
    private static let path = "/admin/credentials/caller"
    private static let given = Response(
        json: #"{"RequestId":"R-1","Credentials":{"AccessKeyId":"STS.given","#
            + #""AccessKeySecret":"canary-given","SecurityToken":"canary-token","#
            + #""Expiration":"2099-01-01T00:00:00Z"}}"#
    )

    private static func refusal(_ status: Int, _ code: String) -> Response {
        Response(
            status,
            json: #"{"Code":"\#(code)","Message":"in STS's own words","RequestId":"R-2"}"#
        )
    }

    let directory = TemporaryDirectory()
    let partner: SandboxPartner

    init() throws {
        partner = try SandboxPartner(.silent)
    }

    private func gateway(_ sts: RecordingServer, roles: [String] = ["role"]) throws -> Gateway {
        try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["caller"] = .fixed(
                Credential(accessKeyID: "old-caller", secret: Secret("canary-old"))
            )
            for name in roles {
                var role = AssumeRole(roleARN: Self.arn, caller: .named("caller"))
                role.access.endpoint = sts.url
                role.access.limits = WebLimits(connect: .seconds(1), total: .seconds(1))
                role.sessionName = name
                $0.credentials[name] = .assumeRole(role)
            }
        }
    }

    private func ask(_ gateway: Gateway, _ method: String, _ path: String) throws -> TestAnswer {
        let body =
            method == "PUT"
            ? #"{"AccessKeyId":"new-caller","AccessKeySecret":"canary-new"}"# : ""
        return try gateway.ask(method, path, body)
    }

    private static func isNew(_ request: RecordingServer.Request) -> Bool {
        request.query.contains("AccessKeyId=new-caller")
    }

    private func inUse(_ gateway: Gateway) -> String? {
        gateway.keeper.credential(named: "caller")?.accessKeyID
    }

    @Test("A rotation requests each role once, then installs the credential")
    func proved() throws {
        let sts = try RecordingServer { _, _ in Self.given }
        defer { sts.stop() }
        let gateway = try gateway(sts, roles: ["role", "second"])
        defer { gateway.stop(within: .zero) }
        let answer = try ask(gateway, "PUT", Self.path)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.text.contains(#""proved":true"#) && answer.text.contains(#""proofs":[]"#))
        #expect(answer.text.contains(#"{"role":"role","verdict":"accepted""#))
        #expect(answer.text.contains(#"{"role":"second","verdict":"accepted""#))
        #expect(!answer.text.contains("canary"))
        #expect(inUse(gateway) == "new-caller")
        // At once, so in any order.
        let asked = sts.requests.filter(Self.isNew).map(\.text)
        #expect(asked.count == 2)
        for role in ["role", "second"] {
            #expect(asked.contains { $0.contains("=\(role)&") }, "\(role)")
        }
        #expect(try ask(gateway, "POST", Self.path + "/verify").status == 200)
    }

    @Test(
        "Refused by STS it is not used, in STS's own words, unless it is forced",
        arguments: [(403, "NoPermission"), (404, "InvalidAccessKeyId.NotFound")]
    )
    func refused(status: Int, code: String) throws {
        let sts = try RecordingServer { request, _ in
            Self.isNew(request) ? Self.refusal(status, code) : Self.given
        }
        defer { sts.stop() }
        let gateway = try gateway(sts)
        defer { gateway.stop(within: .zero) }
        let answer = try ask(gateway, "PUT", Self.path)
        #expect(answer.status == 422, "\(answer.text)")
        for part in ["CredentialRefused", code, "in STS's own words", "R-2", "role", "force=true"] {
            #expect(answer.text.contains(part), "\(part): \(answer.text)")
        }
        #expect(!answer.text.contains("canary"))
        #expect(inUse(gateway) == "old-caller")
        let count = sts.requests.filter(Self.isNew).count
        let forced = try ask(gateway, "PUT", Self.path + "?force=true")
        #expect(forced.status == 200 && forced.text.contains(#""proved":false"#))
        #expect(inUse(gateway) == "new-caller")
        #expect(sts.requests.filter(Self.isNew).count == count)
        let verdict = try ask(gateway, "POST", Self.path + "/verify")
        #expect(verdict.status == 422 && verdict.text.contains(code), "\(verdict.text)")
    }

    @Test("Without a result from STS the old credential stays", arguments: [nil, 503, 400])
    func undecided(status: Int?) throws {
        let sts = try RecordingServer { request, _ in
            guard Self.isNew(request) else { return Self.given }
            // What is wrong with the role's settings says nothing about the caller.
            return status.map {
                Self.refusal($0, $0 == 503 ? "ServiceUnavailable" : "InvalidParameter.RoleArn")
            }
        }
        defer { sts.stop() }
        let gateway = try gateway(sts)
        defer { gateway.stop(within: .zero) }
        let answer = try ask(gateway, "PUT", Self.path)
        #expect(answer.status == 502, "\(answer.text)")
        #expect(answer.text.contains("CredentialUnproved") && answer.text.contains("force=true"))
        #expect(inUse(gateway) == "old-caller")
        #expect(try ask(gateway, "PUT", Self.path + "?force=true").status == 200)
        #expect(try ask(gateway, "POST", Self.path + "/verify").status == 502)
    }

    @Test("A gateway that stops does not wait for STS")
    func stopping() throws {
        let sts = try RecordingServer { request, _ in Self.isNew(request) ? nil : Self.given }
        defer { sts.stop() }
        let gateway = try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["caller"] = .admin
            var role = AssumeRole(roleARN: Self.arn, caller: .named("caller"))
            role.access.endpoint = sts.url
            role.access.limits = WebLimits(connect: .seconds(1), total: .seconds(30))
            $0.credentials["role"] = .assumeRole(role)
        }
        let asker = try Worker("asker") { _ = try? ask(gateway, "PUT", Self.path) }
        #expect(eventually { sts.requests.contains(where: Self.isNew) })
        let start = Moment.now
        gateway.stop(within: .zero)
        #expect(Moment.now - start < .seconds(10).calibrated())
        asker.join()
    }
}

import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct AssumeRoleTests {
    @Test("STS is asked with a signature over query and form, and gives a credential")
    func success() throws {
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        var role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.temporary))
        role.sessionName = "gw-1"
        role.seconds = 1800
        role.policy = #"{"Version":"1"}"#
        role.externalID = "partner 7"
        let supplied = try Samples.fetch(.assumeRole(role), Samples.surroundings(sts: server.url))
        #expect(supplied.credential == Samples.issued())
        #expect(supplied.expiration == Samples.now + .seconds(3600))
        #expect(supplied.origin == "STS AssumeRole \(Samples.roleARN)")

        let request = try #require(server.requests.now.first)
        #expect(request.method == "POST" && request.path == "/")
        #expect(request.fields["content-type"] == "application/x-www-form-urlencoded")
        let expected = [
            "Action": "AssumeRole", "Version": "2015-04-01", "Format": "JSON",
            "Timestamp": "2025-01-14T08:30:00Z", "SignatureMethod": "HMAC-SHA1",
            "SignatureVersion": "1.0", "AccessKeyId": "STS.CallerKeyId",
            "SecurityToken": Samples.token, "RoleArn": Samples.roleARN,
            "RoleSessionName": "gw-1", "DurationSeconds": "1800", "Policy": #"{"Version":"1"}"#,
            "ExternalId": "partner 7",
        ]
        for (name, value) in expected { #expect(request[name] == value, "\(name)") }
        #expect(request.body.contains("RoleArn=") && !request.body.contains("AccessKeyId"))
        #expect(request["SignatureNonce"]?.utf8.count == 32)
        try expectSigned(request)
    }

    /// Recomputed here from what arrived, by the rules and not by the room's code.
    private func expectSigned(_ request: StandIn.Request) throws {
        func encoded(_ text: String) -> String {
            let plain = Set(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~".utf8
            )
            return text.utf8.map { byte in
                plain.contains(byte) ? String(Unicode.Scalar(byte)) : "%" + hex([byte], upper: true)
            }.joined()
        }
        let query = request.parameters.filter { $0.name != "Signature" }
            .sorted { $0.name < $1.name }
            .map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
        let text = "POST&%2F&\(encoded(query))"
        let code = Digest.hmacSHA1(key: Array("\(Samples.secret)&".utf8), Array(text.utf8))
        #expect(request["Signature"] == Digest.base64(code))
    }

    @Test("What is not set is not sent, and the session has a name")
    func defaults() throws {
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        _ = try Samples.fetch(.assumeRole(role), Samples.surroundings(sts: server.url))
        let request = try #require(server.requests.now.first)
        for name in ["Policy", "ExternalId", "SecurityToken"] { #expect(request[name] == nil) }
        #expect(request["RoleSessionName"] == "sluice")
        #expect(request["DurationSeconds"] == "3600")
        try expectSigned(request)
    }

    @Test(
        "A refusal is told in STS's own words, with what helps, and without secrets",
        arguments: [
            (400, "InvalidParameter.RoleArn", SourceProblem.Kind.permanent, "role_arn"),
            (400, "InvalidParameter.RoleSessionName", .permanent, "session_name"),
            (400, "InvalidParameter.DurationSeconds", .permanent, "duration"),
            (400, "InvalidParameter.PolicyGrammar", .permanent, "policy"),
            (400, "InvalidParameter.PolicySize", .permanent, "policy"),
            (400, "InvalidParameter", .permanent, "setting"),
            (400, "Throttling", .temporary, "lasts"),
            (400, "Throttling.User", .temporary, "lasts"),
            (404, "InvalidAccessKeyId.NotFound", .permanent, "access key"),
            (400, "InvalidAccessKeyId.Inactive", .permanent, "enabled"),
            (400, "SignatureDoesNotMatch", .permanent, "secret"),
            (400, "IncompleteSignature", .permanent, "proxy"),
            (400, "InvalidTimeStamp.Expired", .temporary, "clock"),
            (400, "SignatureNonceUsed", .temporary, "lasts"),
            (400, "MissingSecurityToken", .permanent, "security token"),
            (403, "NoPermission", .permanent, "trust policy"),
            (404, "EntityNotExist.Role", .permanent, "create the role"),
            (500, "InternalError", .temporary, "lasts"),
            (400, "NobodyKnows", .permanent, "documentation"),
            (503, "NobodyKnows", .temporary, "lasts"),
        ]
    )
    func refusals(status: Int, code: String, kind: SourceProblem.Kind, remedy: String) throws {
        let echoed = "server string is \(Samples.token) \(percentEncoded(Samples.token)) "
        let twice = percentEncoded(percentEncoded(Samples.token)) + Samples.secret
        let server = try StandIn { _, _ in .json(status, Samples.refusal(code, echoed + twice)) }
        defer { server.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.temporary))
        let surroundings = Samples.surroundings(sts: server.url)
        let problem = try #require(Samples.problem(.assumeRole(role), surroundings))
        #expect(problem.kind == kind)
        #expect(problem.remedy.contains(remedy))
        #expect(problem.words?.code == code)
        #expect(problem.words?.status == status)
        #expect(problem.words?.requestID == "R-1")
        #expect(problem.words?.message == "server string is ••• ••• ••••••")
        var dumped = "\(problem) \(String(reflecting: problem))"
        dump(problem, to: &dumped)
        #expect(!dumped.contains("canary"))
    }

    @Test("A clock that is wrong is replaced by that of STS, once")
    func skew() throws {
        let server = try StandIn { request, _ in
            request["Timestamp"] == "2025-01-14T10:30:00Z"
                ? .json(
                    200,
                    Samples.stsAnswer(until: Samples.now + .seconds(7200 + 3600)),
                    date: Samples.now + .seconds(7200)
                )
                : .json(
                    400,
                    Samples.refusal("InvalidTimeStamp.Expired"),
                    date: Samples.now + .seconds(7200)
                )
        }
        defer { server.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        let supplied = try Samples.fetch(.assumeRole(role), Samples.surroundings(sts: server.url))
        #expect(supplied.usableUntil == Samples.now + .seconds(3600))
        #expect(server.requests.now.count == 2)
        let nonces = Set(server.requests.now.compactMap { $0["SignatureNonce"] })
        #expect(nonces.count == 2)
    }

    @Test("A credential of a server whose clock is ahead is good for as long as the server says")
    func ahead() throws {
        let end = Samples.now + .seconds(7200 + 3600)
        let server = try StandIn { _, _ in
            .json(200, Samples.stsAnswer(until: end), date: Samples.now + .seconds(7200))
        }
        defer { server.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        let supplied = try Samples.fetch(
            .assumeRole(role),
            Samples.surroundings(sts: server.url)
        )
        #expect(supplied.expiration == end)
        #expect(supplied.usableUntil == Samples.now + .seconds(3600))
    }

    @Test("A nonce that was used is followed by another")
    func nonce() throws {
        let server = try StandIn { _, number in
            number == 0
                ? .json(400, Samples.refusal("SignatureNonceUsed"))
                : .json(200, Samples.stsAnswer())
        }
        defer { server.stop() }
        let role = AssumeRole(roleARN: Samples.roleARN, caller: .fixed(Samples.key))
        _ = try Samples.fetch(.assumeRole(role), Samples.surroundings(sts: server.url))
        #expect(server.requests.now.count == 2)
    }

    @Test("Without its caller's key nobody is asked")
    func noCaller() throws {
        let role = AssumeRole(roleARN: Samples.roleARN)
        let problem = Samples.problem(.assumeRole(role), Samples.surroundings())
        #expect(problem?.kind == .permanent)
        #expect(problem?.what.contains("ALIBABA_CLOUD_ACCESS_KEY_ID") == true)
        let named = AssumeRole(roleARN: Samples.roleARN, caller: .named("base"))
        let other = Samples.problem(.assumeRole(named), Samples.surroundings())
        #expect(other?.kind == .temporary)
        #expect(other?.what.contains("'base'") == true)
    }

    @Test(
        "The endpoint follows region and network",
        arguments: [
            (STSAccess(), [:], "https://sts.aliyuncs.com"),
            (STSAccess(region: "cn-hangzhou"), [:], "https://sts.cn-hangzhou.aliyuncs.com"),
            (
                STSAccess(region: "cn-hangzhou", isVPC: true), [:],
                "https://sts-vpc.cn-hangzhou.aliyuncs.com"
            ),
            (
                STSAccess(),
                [
                    "ALIBABA_CLOUD_STS_REGION": "cn-beijing",
                    "ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED": "true",
                ],
                "https://sts-vpc.cn-beijing.aliyuncs.com"
            ),
            (
                STSAccess(endpoint: "sts.eu-central-1.aliyuncs.com"), [:],
                "https://sts.eu-central-1.aliyuncs.com"
            ),
        ] as [(STSAccess, [String: String], String)]
    )
    func endpoints(access: STSAccess, environment: [String: String], url: String) throws {
        #expect(try access.url(Samples.surroundings(environment)) == url)
    }

    @Test(
        "An endpoint that would show keys, or that is none, is refused",
        arguments: [
            STSAccess(endpoint: "http://sts.aliyuncs.com"), STSAccess(endpoint: "sts/?x"),
            STSAccess(isVPC: true), STSAccess(region: "cn.evil.com/"),
        ]
    )
    func badEndpoints(access: STSAccess) {
        #expect(throws: SourceProblem.self) { try access.url(Samples.surroundings()) }
    }
}

@Suite struct RPCSignatureTests {
    private let common = [
        (name: "Format", value: "JSON"), ("SignatureMethod", "HMAC-SHA1"),
        ("SignatureVersion", "1.0"),
    ]

    private var assumeRole: [(name: String, value: String)] {
        common + [
            ("AccessKeyId", "testkeyid"), ("Action", "AssumeRole"), ("Version", "2015-04-01"),
            ("Timestamp", "2025-01-14T08:30:00Z"),
            ("SignatureNonce", "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"),
            ("RoleArn", Samples.roleARN), ("RoleSessionName", "gw-1"), ("DurationSeconds", "3600"),
        ]
    }

    @Test("The signature is that of Alibaba's documentation")
    func documented() {
        let parameters =
            common + [
                ("AccessKeyId", "testid"), ("Action", "CreateUser"), ("UserName", "test"),
                ("Version", "2015-05-01"), ("Timestamp", "2015-08-18T03:15:45Z"),
                ("SignatureNonce", "6a6e0ca6-4557-11e5-86a2-b8e8563dc8d2"),
            ]
        #expect(
            RPCSignature.sign("GET", parameters, secret: Secret("testsecret"))
                == "kRA2cnpJVacIhDMzXnoNZG9tDCI="
        )
    }

    @Test("A call for a role is signed as an independent program signs it")
    func assumingRole() {
        #expect(
            RPCSignature.stringToSign("POST", assumeRole)
                == "POST&%2F&AccessKeyId%3Dtestkeyid%26Action%3DAssumeRole%26DurationSeconds%3D3600"
                + "%26Format%3DJSON%26RoleArn%3Dacs%253Aram%253A%253A1234567890123456%253Arole%252F"
                + "sls-gateway%26RoleSessionName%3Dgw-1%26SignatureMethod%3DHMAC-SHA1%26SignatureNonce"
                + "%3D3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf%26SignatureVersion%3D1.0%26Timestamp%3D"
                + "2025-01-14T08%253A30%253A00Z%26Version%3D2015-04-01"
        )
        #expect(
            RPCSignature.sign("POST", assumeRole, secret: Secret("testkeysecret"))
                == "7ITIx1I/VGEuL5gs9jhQi1nU/ms="
        )
    }

    @Test("So is one with a policy")
    func policy() {
        let policy =
            #"{"Version":"1","Statement":[{"Effect":"Allow","Action":"log:PostLogStoreLogs","#
            + #""Resource":"acs:log:*:*:project/p/logstore/*"}]}"#
        #expect(
            RPCSignature.sign(
                "POST",
                assumeRole + [("Policy", policy)],
                secret: Secret("testkeysecret")
            ) == "ai1CPQ+mYjoDGLKdg2dRgA/Lpc4="
        )
    }
}

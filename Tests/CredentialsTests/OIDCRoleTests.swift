import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct OIDCRoleTests {
    private let token = "canary.header.signature"
    private let provider = "acs:ram::1234567890123456:oidc-provider/ack-rrsa-c1"

    private func role(_ directory: TemporaryDirectory) -> OIDCRole {
        var role = OIDCRole()
        role.roleARN = Samples.roleARN
        role.providerARN = provider
        role.tokenFile = "\(directory.path)/token"
        return role
    }

    @Test("The token of the file is sent as it is at each call, without a signature")
    func success() throws {
        let directory = TemporaryDirectory()
        let server = try StandIn { _, number in .json(200, Samples.stsAnswer(number + 1)) }
        defer { server.stop() }
        var role = role(directory)
        role.policy = "{}"
        role.seconds = 900
        let surroundings = Samples.surroundings(sts: server.url)
        directory.replace("token", " \(token)1\n")
        let first = try Samples.fetch(.oidcRole(role), surroundings)
        directory.replace("token", "\(token)2")
        let second = try Samples.fetch(.oidcRole(role), surroundings)
        #expect(first.credential == Samples.issued(1))
        #expect(second.credential == Samples.issued(2))

        let requests = server.requests.now
        #expect(requests.map { $0["OIDCToken"] } == ["\(token)1", "\(token)2"])
        let request = try #require(requests.first)
        #expect(request.method == "POST")
        let expected = [
            "Action": "AssumeRoleWithOIDC", "Version": "2015-04-01", "Format": "JSON",
            "Timestamp": "2025-01-14T08:30:00Z", "RoleArn": Samples.roleARN,
            "OIDCProviderArn": provider, "RoleSessionName": "sluice", "DurationSeconds": "900",
            "Policy": "{}",
        ]
        for (name, value) in expected { #expect(request[name] == value, "\(name)") }
        for name in ["AccessKeyId", "Signature", "SignatureMethod", "SignatureNonce"] {
            #expect(request[name] == nil)
        }
        #expect(!request.target.contains("canary"))
    }

    @Test("What ACK puts into the environment is enough")
    func environment() throws {
        let directory = TemporaryDirectory()
        directory.replace("token", token)
        let server = try StandIn { _, _ in .json(200, Samples.stsAnswer()) }
        defer { server.stop() }
        let variables = [
            "ALIBABA_CLOUD_ROLE_ARN": Samples.roleARN,
            "ALIBABA_CLOUD_OIDC_PROVIDER_ARN": provider,
            "ALIBABA_CLOUD_OIDC_TOKEN_FILE": "\(directory.path)/token",
            "ALIBABA_CLOUD_ROLE_SESSION_NAME": "pod-7",
        ]
        let source = CredentialSource.oidcRole(OIDCRole())
        _ = try Samples.fetch(source, Samples.surroundings(variables, sts: server.url))
        #expect(server.requests.now.first?["RoleSessionName"] == "pod-7")
        for name in variables.keys where !name.contains("SESSION") {
            let problem = Samples.problem(
                source,
                Samples.surroundings(variables.filter { $0.key != name })
            )
            #expect(problem?.kind == .permanent)
            #expect(problem?.remedy.contains(name) == true)
        }
    }

    @Test(
        "A token that cannot be one is not sent",
        arguments: [nil, "", "a.b", "a b c d", "ключ.ключ"]
    )
    func badToken(text: String?) throws {
        let directory = TemporaryDirectory()
        if let text { directory.replace("token", text) }
        let problem = Samples.problem(.oidcRole(role(directory)), Samples.surroundings())
        #expect(problem?.kind == .temporary)
        #expect(problem?.what.contains("\(directory.path)/token") == true)
    }

    @Test(
        "Refusals say what helps, and never the token",
        arguments: [
            ("AuthenticationFail.NoPermission", SourceProblem.Kind.permanent, "OIDC provider"),
            ("AuthenticationFail.OIDCToken.Expired", .temporary, "kubelet"),
            ("AuthenticationFail.OIDCToken.Invalid", .permanent, "oidc_token_file"),
            ("AuthenticationFail.OIDCToken.InvalidSignature", .permanent, "oidc_provider_arn"),
            ("AuthenticationFail.OIDCToken.AudienceNotMatch", .permanent, "sts.aliyuncs.com"),
            ("AuthenticationFail.OIDCToken.HttpsUrlInvalid", .permanent, "issuer"),
        ]
    )
    func refusals(code: String, kind: SourceProblem.Kind, remedy: String) throws {
        let directory = TemporaryDirectory()
        directory.replace("token", token)
        let said = Samples.refusal(code, "bad token \(token)")
        let server = try StandIn { _, _ in .json(401, said) }
        defer { server.stop() }
        let problem = try #require(
            Samples.problem(.oidcRole(role(directory)), Samples.surroundings(sts: server.url))
        )
        #expect(problem.kind == kind)
        #expect(problem.remedy.contains(remedy))
        #expect(problem.words?.message == "bad token •••")
    }
}

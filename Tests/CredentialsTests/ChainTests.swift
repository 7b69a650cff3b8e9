import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct ChainTests {
    /// All links work; taking the first away leaves the next.
    @Test("The default chain is asked in Alibaba's order")
    func order() throws {
        let home = TemporaryDirectory()
        let server = try StandIn { request, _ in
            if request.method == "POST" { return .json(200, Samples.stsAnswer(2)) }
            if request.path == "/uri" { return .json(200, "{\(Samples.members(6))}") }
            return .json(200, Samples.metadataAnswer(5))
        }
        defer { server.stop() }
        home.replace("token", "a.b.c.d")
        home.replace(
            "cli",
            #"{"profiles":[{"name":"default","access_key_id":"cli","access_key_secret":"s"}]}"#
        )
        home.replace("ini", "[default]\naccess_key_id = ini\naccess_key_secret = s")
        var environment = [
            "HOME": home.path,
            "ALIBABA_CLOUD_ACCESS_KEY_ID": "env", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s",
            "ALIBABA_CLOUD_ROLE_ARN": "r", "ALIBABA_CLOUD_OIDC_PROVIDER_ARN": "p",
            "ALIBABA_CLOUD_OIDC_TOKEN_FILE": "\(home.path)/token",
            "ALIBABA_CLOUD_CONFIG_FILE": "\(home.path)/cli",
            "ALIBABA_CLOUD_CREDENTIALS_FILE": "\(home.path)/ini",
            "ALIBABA_CLOUD_ECS_METADATA": "role",
            "ALIBABA_CLOUD_CREDENTIALS_URI": "\(server.url)/uri",
        ]
        func first() throws -> String {
            let surroundings = Samples.surroundings(
                environment,
                sts: server.url,
                metadata: server.url
            )
            return try Samples.fetch(.chain, surroundings).credential.accessKeyID
        }
        #expect(try first() == "env")
        environment["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] = ""
        #expect(try first() == "STS.IssuedKeyId2")
        environment["ALIBABA_CLOUD_ROLE_ARN"] = nil
        #expect(try first() == "cli")
        environment["ALIBABA_CLOUD_CLI_PROFILE_DISABLED"] = "true"
        #expect(try first() == "ini")
        home.replace("ini", "")
        #expect(try first() == "STS.IssuedKeyId5")
        environment["ALIBABA_CLOUD_ECS_METADATA_DISABLED"] = "true"
        #expect(try first() == "STS.IssuedKeyId6")
        environment["ALIBABA_CLOUD_CREDENTIALS_URI"] = nil
        let problem = Samples.problem(.chain, Samples.surroundings(environment))
        #expect(problem?.what.contains("ALIBABA_CLOUD_ACCESS_KEY_SECRET") == true)
        #expect(problem?.what.contains("\(home.path)/ini") == true)
    }

    @Test("The profiles are found in the home folder")
    func home() throws {
        let surroundings = Samples.surroundings(
            ["HOME": "/nowhere", "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true"]
        )
        let what = try #require(Samples.problem(.chain, surroundings)?.what)
        #expect(what.contains("/nowhere/.aliyun/config.json"))
        #expect(what.contains("/nowhere/.alibabacloud/credentials"))
    }

    @Test("A chain stays with the link that worked")
    func stays() throws {
        let server = try StandIn { _, number in
            .json(200, "{\(Samples.members(number + 1))}")
        }
        defer { server.stop() }
        let time = ManualClock(at: Samples.now)
        let environment = [
            "HOME": "/nowhere", "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true",
            "ALIBABA_CLOUD_CREDENTIALS_URI": server.url,
        ]
        let keeper = try CredentialKeeper(Samples.surroundings(environment, time))
        defer { keeper.stop() }
        let changes = SharedValue(0)
        keeper.whenChanged { _ in changes.change { $0 += 1 } }
        try keeper.replace(["default": .chain])
        #expect(changes.wait { $0 == 1 })
        #expect(keeper.status[0].source == "chain")
        #expect(keeper.status[0].origin == server.url)
        #expect(time.wait { keeper.status[0].nextTry != nil })
        time.advance(.seconds(3000))
        #expect(changes.wait { $0 == 2 })
        #expect(keeper.credential(named: "default") == Samples.issued(2))
    }
}

@Suite(.timeLimit(.minutes(10))) struct URISourceTests {
    @Test("What the URI answers is the credential, from the settings or the environment")
    func success() throws {
        let server = try StandIn { _, _ in .json(200, "{\(Samples.members())}") }
        defer { server.stop() }
        let uri = "\(server.url)/c?key=canary"
        let one = try Samples.fetch(.uri(URISource(uri: Secret(uri))), Samples.surroundings())
        let other = try Samples.fetch(
            .uri(URISource()),
            Samples.surroundings(["ALIBABA_CLOUD_CREDENTIALS_URI": uri])
        )
        #expect(one.credential == Samples.issued() && one == other)
        #expect(one.origin == server.url)
        #expect(server.requests.now.map(\.target) == ["/c?key=canary", "/c?key=canary"])
    }

    @Test(
        "A status that will not change is a permanent problem",
        arguments: [
            (403, SourceProblem.Kind.permanent), (404, .permanent), (429, .temporary),
            (500, .temporary),
        ]
    )
    func refused(status: Int, kind: SourceProblem.Kind) throws {
        let server = try StandIn { _, _ in .json(status, "canary") }
        defer { server.stop() }
        let uri = URISource(uri: Secret("\(server.url)/?key=canary"))
        let problem = try #require(Samples.problem(.uri(uri), Samples.surroundings()))
        #expect(problem.kind == kind)
        #expect(!"\(problem)".contains("canary"))
    }

    @Test(
        "All four members are needed",
        arguments: ["AccessKeyId", "AccessKeySecret", "SecurityToken", "Expiration"]
    )
    func incomplete(member: String) throws {
        let text = "{\(Samples.members())}".replacing("\"\(member)\"", with: "\"Other\"")
        let server = try StandIn { _, _ in .json(200, text) }
        defer { server.stop() }
        let uri = URISource(uri: Secret(server.url))
        let problem = try #require(Samples.problem(.uri(uri), Samples.surroundings()))
        #expect(problem.what.contains("no \(member)"))
        #expect(!"\(problem)".contains("canary"))
    }

    @Test("A credential that has expired is refused with how long ago")
    func expired() throws {
        let text = Samples.members(1, until: Samples.now + .seconds(-7500))
        let server = try StandIn { _, _ in .json(200, "{\(text)}") }
        defer { server.stop() }
        let uri = URISource(uri: Secret(server.url))
        let problem = try #require(Samples.problem(.uri(uri), Samples.surroundings()))
        #expect(problem.what.contains("expired 2 h 5 min ago"))
    }

    @Test(
        "What is no URI is refused unread",
        arguments: ["ftp://a/canary", "file:///canary", "canary", "http://", "http://a b"]
    )
    func noURI(text: String) {
        let problem = Samples.problem(.uri(URISource(uri: Secret(text))), Samples.surroundings())
        #expect(problem?.kind == .permanent)
        #expect(problem.map { "\($0)" }?.contains("canary") == false)
        #expect(Samples.problem(.uri(URISource()), Samples.surroundings())?.kind == .permanent)
    }
}

import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(2))) struct URISourceTests {
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

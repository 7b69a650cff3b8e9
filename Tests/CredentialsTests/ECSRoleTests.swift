import HTTPClient
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct ECSRoleTests {
    private static let folder = "/latest/meta-data/ram/security-credentials/"

    private func reply(_ request: StandIn.Request, needsToken: Bool = true) -> StandIn.Reply {
        if request.path == "/latest/api/token" {
            let lifetime = request.fields["x-aliyun-ecs-metadata-token-ttl-seconds"]
            return request.method == "PUT" && lifetime == "21600"
                ? .json(200, "metadata-token") : .json(400, "")
        }
        guard !needsToken || request.fields["x-aliyun-ecs-metadata-token"] == "metadata-token"
        else {
            return .json(403, "")
        }
        return switch request.path {
        case Self.folder: .json(200, "log-writer\n")
        case Self.folder + "log-writer": .json(200, Samples.metadataAnswer())
        default: .json(404, "")
        }
    }

    @Test("Token, role and credential are asked for in turn")
    func hardened() throws {
        let server = try StandIn { request, _ in reply(request) }
        defer { server.stop() }
        let supplied = try Samples.fetch(
            .ecsRole(ECSRole()),
            Samples.surroundings(metadata: server.url)
        )
        #expect(supplied.credential == Samples.issued())
        #expect(supplied.expiration == Samples.now + .seconds(21_600))
        #expect(supplied.origin.contains("log-writer"))
        let requests = server.requests.now
        #expect(requests.map(\.method) == ["PUT", "GET", "GET"])
        #expect(
            requests.map(\.path) == ["/latest/api/token", Self.folder, Self.folder + "log-writer"]
        )
    }

    @Test("A role that is named is not asked for", arguments: [true, false])
    func named(inEnvironment: Bool) throws {
        let server = try StandIn { request, _ in reply(request) }
        defer { server.stop() }
        var role = ECSRole()
        if !inEnvironment { role.roleName = "log-writer" }
        let environment = inEnvironment ? ["ALIBABA_CLOUD_ECS_METADATA": "log-writer"] : [:]
        _ = try Samples.fetch(
            .ecsRole(role),
            Samples.surroundings(environment, metadata: server.url)
        )
        #expect(server.requests.now.count == 2)
    }

    @Test("Without tokens the plain way is taken, unless it is forbidden")
    func plain() throws {
        let server = try StandIn { request, _ in
            request.method == "PUT" ? .json(404, "") : reply(request, needsToken: false)
        }
        defer { server.stop() }
        let surroundings = Samples.surroundings(metadata: server.url)
        _ = try Samples.fetch(.ecsRole(ECSRole()), surroundings)
        #expect(server.requests.now.allSatisfy { $0.fields["x-aliyun-ecs-metadata-token"] == nil })

        var strict = ECSRole()
        strict.isTokenRequired = true
        #expect(Samples.problem(.ecsRole(strict), surroundings)?.remedy.contains("imds_v1") == true)
        let forbidden = Samples.surroundings(
            ["ALIBABA_CLOUD_IMDSV1_DISABLED": "true"],
            metadata: server.url
        )
        #expect(Samples.problem(.ecsRole(ECSRole()), forbidden)?.words?.status == 404)
    }

    @Test("A token that is refused, or breaks something, is left out", arguments: [403, 400, 500])
    func refusedToken(status: Int) throws {
        let server = try StandIn { request, _ in
            if request.fields["x-aliyun-ecs-metadata-token"] != nil { return .json(status, "") }
            return reply(request, needsToken: false)
        }
        defer { server.stop() }
        _ = try Samples.fetch(.ecsRole(ECSRole()), Samples.surroundings(metadata: server.url))
        #expect(server.requests.now.count == 5)
    }

    @Test("No role is a permanent problem, a server's trouble is not")
    func problems() throws {
        func problem(_ status: Int, _ text: String = "") throws -> SourceProblem? {
            let server = try StandIn { request, _ in
                request.method == "PUT" ? .json(200, "t") : .json(status, text)
            }
            defer { server.stop() }
            return Samples.problem(
                .ecsRole(ECSRole()),
                Samples.surroundings(metadata: server.url)
            )
        }
        #expect(try problem(404)?.kind == .permanent)
        #expect(try problem(404)?.remedy.contains("bind") == true)
        #expect(try problem(503)?.kind == .temporary)
        #expect(try problem(429)?.kind == .temporary)
        for name in ["../../user-data", "a/b", "..", "", "a?b"] {
            #expect(try problem(200, name)?.what.contains("invalid name") == true)
        }
    }

    @Test("An answer that reports no success is a problem with its code")
    func code() throws {
        let server = try StandIn { request, _ in
            request.path == Self.folder + "log-writer"
                ? .json(200, #"{"Code":"RoleNotReady"}"#) : reply(request)
        }
        defer { server.stop() }
        let problem = Samples.problem(
            .ecsRole(ECSRole()),
            Samples.surroundings(metadata: server.url)
        )
        #expect(problem?.words?.code == "RoleNotReady")
        #expect(problem?.kind == .temporary)
    }

    @Test("Silence is given up after the configured time")
    func silence() throws {
        let server = try StandIn { _, _ in .silence }
        defer { server.stop() }
        var role = ECSRole()
        role.limits = WebLimits(connect: .milliseconds(100), total: .milliseconds(100))
        let problem = Samples.problem(.ecsRole(role), Samples.surroundings(metadata: server.url))
        #expect(problem?.what.contains("does not answer") == true)
    }
}

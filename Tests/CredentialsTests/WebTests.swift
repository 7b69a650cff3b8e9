import Crypto
import Glibc
import HTTPClient
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct WebTests {
    private func problem(
        _ reply: StandIn.Reply,
        limits: WebLimits = .sts
    ) throws -> SourceProblem {
        let server = try StandIn { _, _ in reply }
        defer { server.stop() }
        var source = URISource(uri: Secret("\(server.url)/credential?key=canary"))
        source.limits = limits
        return try #require(Samples.problem(.uri(source), Samples.surroundings()))
    }

    private let short = WebLimits(connect: .milliseconds(200), total: .milliseconds(200))

    @Test(
        "An answer that is none is a temporary problem",
        arguments: [
            "HTTP/1.1 200 X\r\nContent-Length: 900\r\n\r\n{\"AccessKeyId\":\"a",
            "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 X\r\nContent-Length: 6\r\n\r\n<html>",
            "HTTP/1.1 502 X\r\nContent-Length: 6\r\n\r\n<html>",
            "HTTP/1.1 200 X\r\nContent-Length: 19\r\n\r\n{\"AccessKeyId\":\"a\"}",
            "", "nonsense\r\n\r\n",
        ]
    )
    func unreadable(answer: String) throws {
        let problem = try problem(.raw(answer))
        #expect(problem.kind == .temporary)
        #expect(!"\(problem)".contains("canary"))
        #expect(!problem.remedy.isEmpty)
    }

    @Test("A huge body and a huge head are refused")
    func huge() throws {
        let body = String(repeating: "x", count: 70_000)
        let large = "HTTP/1.1 200 X\r\nContent-Length: 70000\r\n\r\n\(body)"
        #expect(try problem(.raw(large)).what.contains("larger than 64 KiB"))
        let lines = (0..<1000).map { "x-\($0): \(String(repeating: "y", count: 90))\r\n" }.joined()
        #expect(
            try problem(.raw("HTTP/1.1 200 X\r\n\(lines)\r\n")).what.contains("larger than 64 KiB")
        )
    }

    @Test("An answer that never ends does, by the time limit or by its size")
    func endless() throws {
        #expect(try problem(.endless, limits: short).kind == .temporary)
    }

    @Test("A server that says nothing is waited for as long as configured")
    func silent() throws {
        let start = Moment.now
        let problem = try problem(.silence, limits: short)
        #expect(problem.what.contains("does not answer"))
        #expect(Moment.now - start < .seconds(5).calibrated())
    }

    @Test("Nobody follows a redirect")
    func redirect() throws {
        let other = try StandIn { _, _ in .json(200, "{\(Samples.members())}") }
        defer { other.stop() }
        let text = "HTTP/1.1 302 X\r\nLocation: \(other.url)/\r\nContent-Length: 0\r\n\r\n"
        #expect(try problem(.raw(text)).words?.status == 302)
        #expect(other.requests.now.isEmpty)
    }

    @Test("No proxy of the environment is asked")
    func proxy() async {
        // In a process of its own: the environment is everybody's.
        await #expect(processExitsWith: .success) {
            for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:1", 1)
            }
            let server = try StandIn { _, _ in .json(200, "{\(Samples.members())}") }
            let uri = URISource(uri: Secret(server.url))
            let supplied = try Samples.fetch(.uri(uri), Samples.surroundings())
            // A thread that is left behind is one that ThreadSanitizer complains of.
            server.stop()
            guard supplied.credential == Samples.issued() else { exit(3) }
        }
    }

    @Test("A server with a certificate that nobody knows is not spoken to")
    func certificate() throws {
        let server = try TLSStandIn()
        defer { server.stop() }
        let uri = URISource(uri: Secret("https://localhost:\(server.port)/"))
        let problem = try #require(Samples.problem(.uri(uri), Samples.surroundings()))
        #expect(problem.what.contains("certificate") || problem.what.contains("SSL"))
    }

    @Test("A wait ends at once when it is interrupted")
    func interrupted() throws {
        let server = try StandIn { _, _ in .silence }
        defer { server.stop() }
        let interruption = try Interruption()
        let fetch = CredentialFetch(Samples.surroundings(), interruption: interruption)
        let failure = SharedValue<SourceProblem?>(nil)
        let url = server.url
        let worker = try Worker("test") {
            do throws(SourceProblem) {
                _ = try fetch.credential(from: .uri(URISource(uri: Secret(url))))
            } catch {
                failure.change { $0 = error }
            }
        }
        #expect(server.requests.wait { $0.count == 1 })
        let start = Moment.now
        interruption.set()
        worker.join()
        #expect(Moment.now - start < .seconds(1).calibrated())
        #expect(failure.now?.what.contains("cancelled") == true)
    }
}

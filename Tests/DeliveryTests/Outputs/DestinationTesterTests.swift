import Configuration
import Crypto
import Glibc
import SLS
import System
import TestSupport
import Testing

@testable import Delivery
@testable import HTTPClient

/// Tests of destinations, which deliver nothing.
@Suite(.timeLimit(.minutes(10))) struct DestinationTesterTests {
    private static let secret = "canary-of-a-header"
    private static let query = "canary-of-a-query"
    private let directory = TemporaryDirectory()

    private func test(_ settings: Destination, patience: Duration = .seconds(10)) throws
        -> DestinationTest
    {
        var tester = DestinationTester()
        tester.userAgent = "sluice/test"
        tester.patience = patience
        return try tester.test(settings)
    }

    private func http(_ place: String) throws -> Destination {
        var destination = Destination(name: "web", kind: .http)
        destination.http = try Samples.httpTarget("\(place)/in?key=\(Self.query)", at: place)
        destination.http.headers = [
            .init(name: "authorization", value: Secret("Bearer \(Self.secret)"))
        ]
        return destination
    }

    // MARK: - HTTP

    @Test(
        "The answer to a HEAD request decides, and only where it holds for POST too",
        arguments: [
            (200, .accepted), (204, .accepted), (400, .accepted), (405, .accepted),
            (501, .accepted), (401, .refused), (403, .undecided), (404, .undecided),
            (302, .undecided), (500, .undecided), (503, .undecided),
        ] as [(Int, DestinationTest.Verdict)]
    )
    func statuses(status: Int, verdict: DestinationTest.Verdict) throws {
        // The length of what GET would give: nothing follows.
        let server = try ScriptedServer { _, _ in
            .text("HTTP/1.1 \(status) X\r\nContent-Length: 4096\r\n\r\n")
        }
        defer { server.stop() }
        let test = try test(http("http://127.0.0.1:\(server.port)"))
        #expect(test.verdict == verdict, "\(test)")
        #expect(test.status == status)
        #expect(test.message.contains("reached 127.0.0.1"), "\(test)")
        #expect(test.message.hasSuffix("it answers HEAD with \(status). No log was sent"))
        #expect((test.remedy == "none needed") == (verdict == .accepted))
        let requests = server.requests.now
        #expect(requests.count == 1 && requests[0].body.isEmpty)
        let request = try #require(requests.first)
        #expect(request.head.hasPrefix("HEAD /in?key=\(Self.query) HTTP/1.1\r\n"))
        #expect(request.header("authorization") == "Bearer \(Self.secret)")
        #expect(request.header("user-agent") == "sluice/test")
        #expect(request.header("content-type") == nil)
        let told = "\(test)"
        #expect(!told.contains(Self.secret) && !told.contains(Self.query))
    }

    @Test("A server that is silent or away is told as such, in time and without secrets")
    func silent() throws {
        let server = try ScriptedServer { _, _ in .silence }
        defer { server.stop() }
        let late = try test(
            http("http://127.0.0.1:\(server.port)"),
            patience: .milliseconds(300)
        )
        #expect(late.verdict == .undecided && late.code == "CURLE_28", "\(late)")
        let gone = try ScriptedServer { _, _ in .hangUp }
        let away = try http("http://127.0.0.1:\(gone.port)")
        gone.stop()
        let refused = try test(away)
        #expect(refused.verdict == .undecided && refused.code == "CURLE_7", "\(refused)")
        #expect(refused.remedy.contains("firewall"))
        #expect(!"\(late)\(refused)".contains("canary"))
    }

    @Test("A certificate of an unknown authority fails the test before anything is sent")
    func certificate() throws {
        let tls = try TLSServer(for: "localhost")
        defer { tls.stop() }
        let test = try test(http("https://localhost:\(tls.port)"))
        #expect(test.verdict == .undecided && test.code == "CURLE_60", "\(test)")
    }

    // MARK: - Files

    private func file(_ name: String, _ change: (inout FileTarget) -> Void = { _ in })
        -> Destination
    {
        var target = FileTarget(path: "\(directory.path)/\(name)")
        change(&target)
        return Samples.fileDestination(target, name: "archive")
    }

    @Test("A file that can be made, or is there, passes and stays as it is")
    func file() throws {
        let new = try test(file("new.ndjson"))
        #expect(new.verdict == .accepted, "\(new)")
        #expect(new.message.contains("is not there yet and can be made"))
        #expect(new.message.hasSuffix("are free. Nothing was written"))
        #expect(access("\(directory.path)/new.ndjson", F_OK) != 0)
        let line = Array(#"{"date":"2025-01-14T08:30:00Z","tag":""}"#.utf8)
        writeFile("\(directory.path)/old.ndjson", line)
        let old = try test(file("old.ndjson") { $0.rotation.bytes = 1 << 20 })
        #expect(old.verdict == .accepted && old.message.contains("has 40B"), "\(old)")
        // Not even the end of its last line is mended.
        #expect(readFile("\(directory.path)/old.ndjson") == line)
        writeFile("\(directory.path)/other", Array("listen: 8080\n".utf8))
        let other = try test(file("other"))
        #expect(other.verdict == .refused && other.code == "NOT_LOGS", "\(other)")
        let guarded = try test(
            file("old.ndjson") { $0.guarded.paths = ["\(directory.path)/old.ndjson"] }
        )
        #expect(guarded.verdict == .refused && guarded.code == "GUARDED", "\(guarded)")
    }

    @Test("A missing directory, a link, a pipe or a directory in place of the file fails")
    func wrongFiles() throws {
        #expect(symlink("/dev/null", "\(directory.path)/link") == 0)
        #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
        #expect(mkdir("\(directory.path)/folder", 0o700) == 0)
        for (name, code) in [
            ("nowhere/a.ndjson", "ENOENT"), ("link", "ELOOP"), ("pipe", "NOT_A_FILE"),
            ("folder", "EISDIR"), ("pipe/a.ndjson", "ENOTDIR"),
        ] {
            let test = try test(file(name))
            #expect(test.verdict == .refused && test.code == code, "\(name): \(test)")
            #expect(test.remedy != "none needed")
        }
        #expect(try test(file("proc") { $0.path = "/proc/sluice.ndjson" }).verdict == .refused)
    }

    // MARK: - Standard output

    @Test("A pipe passes with a reader, is undecided when it is full, and fails without a reader")
    func pipes() throws {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { close(writer) }
        let inspection = StdoutInspection(descriptor: writer)
        let fine = inspection.result(of: "console")
        #expect(fine.verdict == .accepted && fine.message.contains("a pipe"), "\(fine)")
        #expect(fcntl(writer, F_SETFL, O_NONBLOCK) == 0)
        let filling = [UInt8](repeating: 10, count: 4096)
        while write(writer, filling, filling.count) > 0 {}
        let full = inspection.result(of: "console")
        #expect(full.verdict == .undecided && full.code == "STUCK", "\(full)")
        close(reader)
        let gone = inspection.result(of: "console")
        #expect(gone.verdict == .refused && gone.code == "EPIPE", "\(gone)")
    }

    @Test("A closed or read-only output fails, and /dev/null is named")
    func outputs() throws {
        let null = open("/dev/null", O_WRONLY)
        #expect(StdoutInspection(descriptor: null).result(of: "c").message.contains("/dev/null"))
        close(null)
        #expect(StdoutInspection(descriptor: -1).result(of: "c").code == "EBADF")
        let reading = open("/dev/null", O_RDONLY)
        defer { close(reading) }
        #expect(StdoutInspection(descriptor: reading).result(of: "c").code == "EBADF")
    }
}

import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ServeTests {
    private func serve(
        in place: TemporaryDirectory,
        _ more: String...
    ) throws -> (program: Program, url: URL) {
        let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        let program = try Program(["serve", "--sandbox"] + ports + more, in: place.path)
        let line = try #require(program.output.next(containing: ["Send a log"]))
        let address = try #require(line.split(separator: " ").first { $0.contains("://") })
        return (program, try #require(URL(string: String(address))))
    }

    @Test(
        "serve prints its addresses, accepts logs, and exits with 0 on a signal",
        arguments: [SIGTERM, SIGINT]
    )
    func serves(signal: Int32) throws {
        let place = TemporaryDirectory()
        let (program, url) = try serve(in: place)
        #expect(try post(url, #"{"level":"info"}"#) == 200)
        program.signal(signal)
        let outcome = program.finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("stopped; all logs are delivered"))
        #expect(FileManager.default.fileExists(atPath: place.path + "/sluice-data/admin-token"))
    }

    @Test("SIGHUP with an invalid configuration is refused, and the gateway continues")
    func reload() throws {
        let place = TemporaryDirectory()
        let file = place.file("sluice.yaml", "log: { level: info }\n")
        let (program, url) = try serve(in: place, "--config", file)
        place.file("sluice.yaml", "log: { level: noise }\n")
        program.signal(SIGHUP)
        // The reload takes a moment, in which the end of the program could overtake it.
        #expect(program.errors.next(containing: ["keeps the present configuration"]) != nil)
        #expect(try post(url, #"{"a":1}"#) == 200)
        program.signal(SIGTERM)
        let outcome = program.finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("log.level"))
        #expect(outcome.errors.contains("keeps the present configuration"))
    }

    @Test("A port in use exits with 1 and one line")
    func takenPort() throws {
        let place = TemporaryDirectory()
        let (first, url) = try serve(in: place)
        let port = try #require(url.port)
        let second = try Program(
            [
                "serve", "--sandbox", "--listen", "127.0.0.1:\(port)",
                "--admin-listen", "127.0.0.1:0", "--data-dir", "other", "--log-level", "error",
            ],
            in: place.path
        ).finished()
        #expect(second.exitCode == 1)
        #expect(
            second.errors.hasPrefix("sluice: cannot listen on 127.0.0.1:\(port): the port is taken")
        )
        #expect(second.errors.split(separator: "\n").count == 1)
        first.signal(SIGTERM)
        #expect(first.finished().exitCode == 0)
    }

    @Test("A second signal ends a slow stop with 1, and accepted logs stay queued")
    func secondSignal() throws {
        let place = TemporaryDirectory()
        // Nobody listens on port 1, so the log cannot leave.
        let file = place.file(
            "sluice.yaml",
            """
            listen: 127.0.0.1:0
            admin: { listen: "127.0.0.1:0" }
            data_dir: data
            drain_timeout: 50s
            log: { format: json }
            destinations:
              app: { endpoint: "http://localhost:1", project: my-project, logstore: ls, region: here }
            credentials:
              default: { from: static, access_key_id: id, access_key_secret: hush-hush }
            """
        )
        let program = try Program(["serve", "--config", file], in: place.path)
        let port = try #require(program.listeners(), "\(program.errors.lines)").devices
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/logs/x"))
        #expect(try post(url, #"{"a":1}"#) == 200)
        program.signal(SIGTERM)
        _ = try #require(program.errors.next(containing: ["stopping"]))
        program.signal(SIGTERM)
        let outcome = program.finished()
        #expect(outcome.exitCode == 1)
        #expect(!outcome.errors.contains("hush-hush"))
    }

    private func post(_ url: URL, _ body: String) throws -> Int? {
        guard let port = url.port, let client = try? TestConnection(port: UInt16(port)) else {
            return nil
        }
        return client.request("POST", url.path, body: body)?.status
    }
}

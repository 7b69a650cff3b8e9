import Foundation
import FoundationNetworking
import Testing

@Suite(.timeLimit(.minutes(1))) struct ServeTests {
    /// A directory to run in, gone afterwards.
    private final class Workplace {
        let path = NSTemporaryDirectory() + "sluice-command-\(UUID().uuidString)"

        init() throws {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func serve(_ more: String...) throws -> (sluice: Sluice, url: URL) {
            let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
            let sluice = try Sluice(["serve", "--sandbox"] + ports + more, in: path)
            let line = try #require(sluice.line(containing: "Send a log"))
            let address = try #require(line.split(separator: " ").first { $0.contains("://") })
            return (sluice, try #require(URL(string: String(address))))
        }
    }

    @Test(
        "It says where to post, takes it, and stops with 0 when asked",
        arguments: [SIGTERM, SIGINT]
    )
    func serves(signal: Int32) throws {
        let place = try Workplace()
        let (sluice, url) = try place.serve()
        #expect(try post(url, #"{"level":"info"}"#) == 200)
        sluice.signal(signal)
        let outcome = sluice.finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("stopped, everything delivered"))
        #expect(FileManager.default.fileExists(atPath: place.path + "/sluice-data/admin-token"))
    }

    @Test("The queue survives kill -9, and the next start delivers it")
    func killed() throws {
        let place = try Workplace()
        let (first, url) = try place.serve()
        for number in 0..<20 { #expect(try post(url, #"{"n":\#(number)}"#) == 200) }
        first.signal(SIGKILL)
        _ = first.finished()
        let (second, _) = try place.serve()
        second.signal(SIGTERM)
        let outcome = second.finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("stopped, everything delivered"))
    }

    @Test("A configuration that went bad is refused, and the gateway goes on")
    func reload() throws {
        let place = try Workplace()
        let file = place.path + "/sluice.yaml"
        try "log: { level: info }\n".write(toFile: file, atomically: true, encoding: .utf8)
        let (sluice, url) = try place.serve("--config", file)
        try "log: { level: noise }\n".write(toFile: file, atomically: true, encoding: .utf8)
        sluice.signal(SIGHUP)
        #expect(try post(url, #"{"a":1}"#) == 200)
        sluice.signal(SIGTERM)
        let outcome = sluice.finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("log.level"))
        #expect(outcome.errors.contains("goes on with the configuration it has"))
    }

    @Test("A taken port ends with 1 and one line")
    func takenPort() throws {
        let place = try Workplace()
        let (first, url) = try place.serve()
        let port = try #require(url.port)
        let second = try Sluice(
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

    @Test("A second signal ends a stop that takes long, with 1; what was taken stays")
    func secondSignal() throws {
        let place = try Workplace()
        let file = place.path + "/sluice.yaml"
        // Nobody listens on port 1, so the log cannot leave.
        try """
        listen: 127.0.0.1:0
        admin: { listen: "127.0.0.1:0" }
        data_dir: data
        drain_timeout: 50s
        log: { format: json }
        destinations:
          app: { endpoint: "http://localhost:1", project: my-project, logstore: ls, region: here }
        credentials:
          default: { from: static, access_key_id: id, access_key_secret: hush-hush }
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let sluice = try Sluice(["serve", "--config", file], in: place.path)
        let ready = try #require(sluice.complaint(containing: "sluice is ready"))
        let address = try #require(
            ready.firstRange(of: "\"devices\":\"").map {
                ready[$0.upperBound...].prefix { $0 != "\"" }
            }
        )
        let url = try #require(URL(string: "http://\(address)/logs/x"))
        #expect(try post(url, #"{"a":1}"#) == 200)
        sluice.signal(SIGTERM)
        _ = try #require(sluice.complaint(containing: "stopping"))
        sluice.signal(SIGTERM)
        let outcome = sluice.finished()
        #expect(outcome.exitCode == 1)
        #expect(!outcome.errors.contains("hush-hush"))
    }

    private func post(_ url: URL, _ body: String) throws -> Int {
        var request = URLRequest(url: url, timeoutInterval: 20)
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        let answered = DispatchSemaphore(value: 0)
        // Written before the signal and read after it.
        nonisolated(unsafe) var status = 0
        URLSession.shared.dataTask(with: request) { _, response, _ in
            status = (response as? HTTPURLResponse)?.statusCode ?? 0
            answered.signal()
        }.resume()
        answered.wait()
        return status
    }
}

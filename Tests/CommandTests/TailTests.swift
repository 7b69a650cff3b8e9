import Foundation
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TailTests {
    private func start(_ running: RunningGateway, _ options: [String]) throws -> Program {
        try Program(["tail"] + options + running.operatorEnd.reach)
    }

    private func post(_ port: UInt16, _ tag: String, _ logs: String) -> Int? {
        (try? TestConnection(port: port))?.request("POST", "/logs/\(tag)", body: logs)?.status
    }

    /// Sends a log again and again until the tail shows it: nothing tells from outside when it has
    /// begun.
    private func shown(
        _ tail: Program,
        _ port: UInt16,
        _ tag: String,
        _ log: String,
        as text: String = ""
    ) -> String? {
        let isOver = Locked(false)
        let sender = Thread {
            while !isOver.withLock({ $0 }) {
                _ = post(port, tag, log)
                Thread.sleep(forTimeInterval: 0.05)
            }
        }
        sender.start()
        defer { isOver.withLock { $0 = true } }
        return tail.output.next(containing: text.isEmpty ? [] : [text])
    }

    @Test("tail shows logs as text, and ends at --limit")
    func limit() throws {
        let running = try RunningGateway()
        let tail = try start(
            running,
            ["--limit", "2", "--logstore=wanted", "--field", "level:error"]
        )
        let port = running.listeners.devices
        let log = #"{"level":"error","text":"\u001b[2Jall gone"}"#
        let line = try #require(shown(tail, port, "wanted", log))
        #expect(
            line.contains(#"  app/wanted  wanted  level=error text="\u{1b}[2Jall gone""#),
            "\(line)"
        )
        #expect(post(port, "other", log) == 200)
        #expect(post(port, "wanted", #"[{"level":"info"},{"level":"error","n":"2"}]"#) == 200)
        let outcome = tail.finished()
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").count == 2, "\(outcome.output)")
        #expect(!outcome.output.contains("app/other") && !outcome.output.contains("info"))
    }

    @Test("With --json each line is one complete object")
    func json() throws {
        let running = try RunningGateway()
        let tail = try start(running, ["--json", "--limit=1"])
        let long = String(repeating: "x", count: 5000)
        _ = shown(tail, running.listeners.devices, "hello", #"{"a":"\#(long)"}"#)
        let outcome = tail.finished()
        #expect(outcome.exitCode == 0)
        let document =
            try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        #expect(document?["logstore"] as? String == "hello")
        #expect((document?["log"] as? [String: String])?["a"] == long)
    }

    @Test("tail ends silently when its reader has gone, also without further logs")
    func pipe() throws {
        let running = try RunningGateway()
        let tail = try start(running, [])
        #expect(shown(tail, running.listeners.devices, "hello", #"{"a":"1"}"#) != nil)
        tail.output.close()
        #expect(tail.ended() == 0)
        #expect(tail.errors.all() == "")
    }

    @Test("tail waits for a gateway that is down, and follows it again")
    func restart() throws {
        let running = try RunningGateway()
        let tail = try start(running, [])
        #expect(shown(tail, running.listeners.devices, "hello", #"{"a":"1"}"#) != nil)
        running.program.signal(SIGTERM)
        #expect(tail.errors.next(containing: ["the gateway ended the stream"]) != nil)
        // It goes on to hold its directory and its port until it has ended.
        #expect(running.program.ended() == 0)
        let again = try running.restarted()
        let port = try #require(again.listeners()).devices
        #expect(tail.errors.next(containing: ["connected again"]) != nil)
        #expect(shown(tail, port, "hello", #"{"a":"2"}"#, as: "a=2") != nil)
        tail.signal(SIGINT)
        #expect(tail.finished().exitCode == -SIGINT)
        withExtendedLifetime((running, again)) {}
    }

    @Test("A wrong token, a wrong filter and a missing gateway end tail with an error")
    func refused() throws {
        let running = try RunningGateway()
        let admin = "127.0.0.1:\(running.listeners.admin)"
        let stranger = try Program(
            ["tail", "--admin-listen", admin],
            environment: ["SLUICE_ADMIN_TOKEN": String(repeating: "x", count: 32)]
        ).finished()
        #expect(stranger.exitCode == 1)
        #expect(stranger.errors.contains("refuses the token"), "\(stranger.errors)")
        let many = (1...9).flatMap { ["--field", "f\($0)"] }
        let wrong = try start(running, many).finished()
        #expect(wrong.exitCode == 1)
        #expect(wrong.errors.contains("at most 8 tags and fields"), "\(wrong.errors)")
        let nobody = try Program(["tail", "--admin-listen", "127.0.0.1:1"]).finished()
        #expect(nobody.exitCode == 1 && nobody.errors.contains("no gateway answers"))
    }
}

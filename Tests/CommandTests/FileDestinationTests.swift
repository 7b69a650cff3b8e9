import Foundation
import System
import TestSupport
import Testing

/// Destinations that write on this machine, in a process that is killed or whose output nobody
/// reads.
@Suite(.timeLimit(.minutes(3)))
struct FileDestinationTests {
    private let scratch = TemporaryDirectory()

    private func configuration(_ destination: String) -> String {
        scratch.file(
            "sluice.yaml",
            """
            listen: 127.0.0.1:0
            admin: { listen: "127.0.0.1:0" }
            data_dir: \(scratch.path)/data
            destinations:
              app: \(destination)
            """
        )
    }

    /// The numbers in all lines of a file, each of which must be an object.
    private func numbers(in lines: [Data]) throws -> [String] {
        try lines.compactMap { line in
            let log = try JSONSerialization.jsonObject(with: line) as? [String: String]
            return try #require(log)["number"]
        }
    }

    @Test("Every acknowledged log is in the file, and each line is whole, however it is killed")
    func killed() throws {
        mkdir("\(scratch.path)/logs", 0o755)
        let file = configuration(
            "{ kind: file, path: \(scratch.path)/logs/a.ndjson, rotate: { bytes: 1MiB, keep: 1000 } }"
        )
        let posters = try Posters(count: 3)
        var random = SystemRandomNumberGenerator()
        let answersBeforeKill = (0..<6).map { _ in Int.random(in: 1...400, using: &random) }
        for answers in answersBeforeKill {
            let gateway = try Program(["serve", "--config", file])
            let listeners = try #require(gateway.listeners(), "\(gateway.errors.lines)")
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            gateway.signal(SIGKILL)
            _ = gateway.finished()
        }
        posters.stop()
        let last = try Program(["serve", "--config", file])
        _ = try #require(last.listeners(), "\(last.errors.lines)")
        last.signal(SIGTERM)
        let end = last.finished()
        #expect(end.exitCode == 0)

        let lines = TemporaryDirectory.names(in: "\(scratch.path)/logs").flatMap { name in
            readFile("\(scratch.path)/logs/\(name)").split(separator: 10).map { Data($0) }
        }
        let written = try numbers(in: lines)
        let missing = posters.answered.subtracting(written)
        #expect(
            missing.isEmpty,
            "killed after \(answersBeforeKill) answers, \(missing.count) lost: \(end.errors)"
        )
        #expect(posters.answered.count > 6)
    }

    @Test("Logs come as lines on standard output, and the journal does not")
    func stdout() throws {
        let gateway = try Program(["serve", "--config", configuration("{ kind: stdout }")])
        let listeners = try #require(gateway.listeners(), "\(gateway.errors.lines)")
        let client = try TestConnection(port: listeners.devices)
        for number in 0..<3 {
            let body = #"{"number":"\#(number)"}"#
            #expect(client.request("POST", "/logs/app", body: body)?.status == 200)
        }
        for number in 0..<3 {
            #expect(gateway.output.next(containing: [#""tag":"app","number":"\#(number)""#]) != nil)
        }
        gateway.signal(SIGTERM)
        let end = gateway.finished()
        #expect(end.exitCode == 0)
        #expect(!end.errors.contains(#""number":"#))
    }

    @Test(
        "A reader that is stuck delays no stop, and what it did not take comes after the next start"
    )
    func stuck() throws {
        let file = configuration("{ kind: stdout, shape: nested }")
        let gateway = try Program(["serve", "--config", file])
        let listeners = try #require(gateway.listeners(), "\(gateway.errors.lines)")
        let client = try TestConnection(port: listeners.devices)
        let long = String(repeating: "x", count: 200_000)
        let body = #"{"number":"1","long":"\#(long)"}"#
        #expect(client.request("POST", "/logs/app", body: body)?.status == 200)
        #expect(gateway.errors.next(containing: ["destination is paused", "STUCK"]) != nil)
        gateway.signal(SIGTERM)
        #expect(gateway.ended() == 0)

        let second = try Program(["serve", "--config", file])
        _ = try #require(second.listeners(), "\(second.errors.lines)")
        #expect(second.output.next(containing: [#""fields":{"number":"1","long":"xxx"#]) != nil)
        second.signal(SIGTERM)
        #expect(second.finished().exitCode == 0)
    }
}

import Foundation
import System
import TestSupport
import Testing

/// Destinations that write on this machine, in a process that is killed or whose output nobody
/// reads.
@Suite(.timeLimit(.minutes(10)))
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
            let (gateway, listeners) = try Program.serving(file)
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            gateway.killed()
        }
        posters.stop()
        let (last, _) = try Program.serving(file)
        let end = last.stopped()
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
        let (gateway, listeners) = try Program.serving(configuration("{ kind: stdout }"))
        for number in 0..<3 {
            #expect(listeners.post("/logs/app", #"{"number":"\#(number)"}"#) == 200)
        }
        for number in 0..<3 {
            #expect(gateway.output.next(containing: [#""tag":"app","number":"\#(number)""#]) != nil)
        }
        let end = gateway.stopped()
        #expect(end.exitCode == 0)
        #expect(!end.errors.contains(#""number":"#))
    }

    @Test(
        "A reader that is stuck delays no stop, and what it did not take comes after the next start"
    )
    func stuck() throws {
        let file = configuration("{ kind: stdout, shape: nested }")
        let (gateway, listeners) = try Program.serving(file)
        let long = String(repeating: "x", count: 200_000)
        #expect(listeners.post("/logs/app", #"{"number":"1","long":"\#(long)"}"#) == 200)
        #expect(gateway.errors.next(containing: ["destination is paused", "STUCK"]) != nil)
        gateway.signal(SIGTERM)
        #expect(gateway.ended() == 0)

        let (second, _) = try Program.serving(file)
        #expect(second.output.next(containing: [#""fields":{"number":"1","long":"xxx"#]) != nil)
        #expect(second.stopped().exitCode == 0)
    }
}

import Foundation
import System
import TestSupport
import Testing

/// Lanes and identities under the worst treatment: devices that repeat what got no answer, a
/// gateway that is killed, and an SLS that stores requests and cuts the connection before it
/// answers.
@Suite(.timeLimit(.minutes(3)))
struct ExactlyOnceTests {
    @Test("With exactly_once every log arrives once, despite kills and cut connections")
    func once() throws {
        let scratch = TemporaryDirectory()
        let sandbox = try RunningSandbox()
        let configuration =
            sandbox.configuration(dataDirectory: "\(scratch.path)/data")
            + "\n    exactly_once: true\n    lanes: 4\n"
        let file = scratch.file("sluice.yaml", configuration)
        let cut = #"{"reset":true,"store":true,"fraction":0.3}"#
        #expect(sandbox.control("POST", "/faults", cut) == 200)
        let posters = try Posters(count: 3, Posters.Manner(isPatient: true))
        let answersBeforeKill = (0..<6).map { _ in Int.random(in: 1...120) }
        for answers in answersBeforeKill {
            let gateway = try Program(
                ["serve", "--config", file],
                environment: RunningSandbox.keys
            )
            let listeners = try #require(gateway.listeners(), "\(gateway.errors.lines)")
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            gateway.signal(SIGKILL)
            _ = gateway.finished()
        }
        let last = try Program(["serve", "--config", file], environment: RunningSandbox.keys)
        let listeners = try #require(last.listeners(), "\(last.errors.lines)")
        posters.post(to: listeners.devices)
        posters.waitForAnswers(10)
        posters.stop()
        #expect(sandbox.control("DELETE", "/faults") == 200)
        last.signal(SIGTERM)
        let end = last.finished()
        #expect(end.exitCode == 0)
        #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")

        let received = sandbox.received(field: "number")
        let twice = Dictionary(grouping: received, by: \.self).filter { $1.count > 1 }.keys
        #expect(twice.isEmpty, "killed after \(answersBeforeKill): \(twice.sorted().prefix(5))")
        let missing = posters.answered.subtracting(received)
        #expect(missing.isEmpty, "killed after \(answersBeforeKill): \(missing.sorted().prefix(5))")
        print("6 kills, cut answers: \(posters.answered.count) logs, each of them once")
    }
}

import Foundation
import System
import TestSupport
import Testing

/// Promise 1 under the worst treatment: SIGKILL, again and again, under load.
@Suite(.timeLimit(.minutes(3)))
struct KillTests {
    @Test("Every acknowledged log arrives although the gateway is killed repeatedly")
    func killedAgainAndAgain() throws {
        let scratch = TemporaryDirectory()
        let sandbox = try RunningSandbox()
        let file = scratch.file(
            "sluice.yaml",
            sandbox.configuration(dataDirectory: "\(scratch.path)/data")
        )
        let posters = try Posters(count: 3)
        // Where in the gateway's work the kill falls differs from run to run; this tells it again.
        var random = SystemRandomNumberGenerator()
        let answersBeforeKill = (0..<8).map { _ in Int.random(in: 1...120, using: &random) }

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
        posters.stop()

        // Started once more it delivers what is left, and ends when it is asked to.
        let last = try Program(["serve", "--config", file], environment: RunningSandbox.keys)
        _ = try #require(last.listeners(), "\(last.errors.lines)")
        last.signal(SIGTERM)
        let end = last.finished()
        #expect(end.exitCode == 0)

        let answered = posters.answered
        let received = sandbox.received(field: "number")
        let missing = answered.subtracting(received)
        #expect(
            missing.isEmpty,
            "killed after \(answersBeforeKill) answers, \(missing.count) lost: \(end.errors)"
        )
        #expect(answered.count > 8)
        print(
            "8 kills: \(answered.count) logs answered with 200, \(Set(received).count) arrived,",
            "\(received.count - Set(received).count) of them twice"
        )
    }
}

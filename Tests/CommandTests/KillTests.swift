import Foundation
import System
import TestSupport
import Testing

/// Promise 1 under the worst treatment: SIGKILL, again and again, under load.
@Suite(.timeLimit(.minutes(10)))
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
            let (gateway, listeners) = try Program.serving(file)
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            gateway.killed()
        }
        posters.stop()

        // Started once more it delivers what is left, and ends when it is asked to.
        let (last, _) = try Program.serving(file)
        let end = last.stopped()
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

/// Lanes and identities under the worst treatment: devices that repeat what got no answer, a
/// gateway that is killed, and an SLS that stores requests and cuts the connection before it
/// answers.
@Suite(.timeLimit(.minutes(10)))
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
            let (gateway, listeners) = try Program.serving(file)
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            gateway.killed()
        }
        let (last, listeners) = try Program.serving(file)
        posters.post(to: listeners.devices)
        posters.waitForAnswers(10)
        posters.stop()
        #expect(sandbox.control("DELETE", "/faults") == 200)
        let end = last.stopped()
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

/// Everything goes wrong at random, and at the end every log is accounted for.
@Suite(.timeLimit(.minutes(10)))
struct ChaosTests {
    /// What SLS does in a round.
    private static let faults = [
        #"{"status":503,"fraction":0.5}"#,
        #"{"reset":true,"store":true,"fraction":0.3}"#,
        #"{"truncate":true,"store":true,"fraction":0.3}"#,
        #"{"code":"WriteQuotaExceed","fraction":0.3}"#,
        #"{"code":"ShardWriteQuotaExceed","fraction":0.3}"#,
        #"{"code":"Unauthorized","count":5}"#,
        #"{"code":"PostBodyTooLarge","fraction":0.1}"#,
        #"{"code":"SomethingNew","status":400,"fraction":0.1}"#,
        #"{"status":200,"body":"<html>pay for the network</html>","fraction":0.3}"#,
        #"{"clock_offset_s":7200}"#,
        #"{"latency_ms":40}"#,
    ]

    @Test(
        "Faults, kills, poison, overflow and replays at random: the ledger closes, no log is lost"
    )
    func chaos() throws {
        let scratch = TemporaryDirectory()
        let sandbox = try RunningSandbox()
        let file = scratch.file("sluice.yaml", configuration(sandbox, scratch))
        let poison = #"{"key":"poison","code":"PostBodyInvalid","message":"poisoned"}"#
        #expect(sandbox.control("POST", "/poisons", poison) == 200)
        let posters = try Posters(
            count: 4,
            .init(isPatient: true, poisonEvery: 97, otherProject: "lossy")
        )
        var story: [String] = []

        for _ in 0..<6 {
            let round = (0..<2).map { _ in Self.faults.randomElement()! }
            for fault in round { #expect(sandbox.control("POST", "/faults", fault) == 200) }
            let answers = Int.random(in: 20...150)
            story.append("\(answers) answers under \(round)")
            let (gateway, listeners) = try Program.serving(file)
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            let end = OperatorEnd(listeners, dataDirectory: "\(scratch.path)/data")
            if Bool.random() { _ = try end.run("dead-letters", "replay", "--all") }
            gateway.killed()
            #expect(sandbox.control("DELETE", "/faults") == 200)
        }

        // Peace: the poison is taken from SLS, and what died of it is replayed.
        #expect(sandbox.control("DELETE", "/poisons") == 200)
        let (last, listeners) = try Program.serving(file)
        posters.post(to: listeners.devices)
        posters.waitForAnswers(5)
        posters.stop()
        let end = OperatorEnd(listeners, dataDirectory: "\(scratch.path)/data")
        let settled = try end.settled()
        let ledger = try #require(settled)
        #expect(ledger.isClosed, "\(ledger) after \(story)")
        #expect(ledger.queued == 0 && ledger.dead == 0, "\(ledger) after \(story)")

        let received = Set(sandbox.received(field: "number"))
        let missing = posters.answered.subtracting(received)
        // Only what the operator's own bound pushed out may be missing.
        #expect(missing.count <= ledger.expired, "\(missing.count) missing: \(ledger), \(story)")
        #expect(missing.allSatisfy { $0.hasPrefix("lossy") }, "\(missing.prefix(5)) after \(story)")
        #expect(ledger.accepted >= posters.answered.count)
        #expect(ledger.delivered + ledger.expired == ledger.accepted, "\(ledger) after \(story)")
        print("6 rounds of chaos: \(ledger)")
        #expect(last.stopped().exitCode == 0)
    }

    /// One destination keeps everything, the other lets go of the oldest.
    private func configuration(_ sandbox: RunningSandbox, _ scratch: TemporaryDirectory) -> String {
        sandbox.configuration(dataDirectory: "\(scratch.path)/data") + """

              lossy:
                endpoint: http://localhost:\(sandbox.port)
                project: lossy
                logstore: lossy
                region: sandbox
                packet: { age: 50ms }
                max_bytes: 1MiB
                overflow: drop_oldest
            """
    }
}

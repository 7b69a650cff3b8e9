import Foundation
import System
import TestSupport
import Testing

/// Everything goes wrong at random, and at the end every log is accounted for.
@Suite(.timeLimit(.minutes(4)))
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
            let gateway = try Program(
                ["serve", "--config", file],
                environment: RunningSandbox.keys
            )
            let listeners = try #require(gateway.listeners(), "\(gateway.errors.lines)")
            posters.post(to: listeners.devices)
            posters.waitForAnswers(answers)
            let end = OperatorEnd(listeners, dataDirectory: "\(scratch.path)/data")
            if Bool.random() { _ = try end.run("dead-letters", "replay", "--all") }
            gateway.signal(SIGKILL)
            _ = gateway.finished()
            #expect(sandbox.control("DELETE", "/faults") == 200)
        }

        // Peace: the poison is taken from SLS, and what died of it is replayed.
        #expect(sandbox.control("DELETE", "/poisons") == 200)
        let last = try Program(["serve", "--config", file], environment: RunningSandbox.keys)
        let listeners = try #require(last.listeners(), "\(last.errors.lines)")
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
        last.signal(SIGTERM)
        #expect(last.finished().exitCode == 0)
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

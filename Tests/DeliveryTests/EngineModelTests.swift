import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// Whatever the server does for a while, in the end all is stored or dead, and every place is free.
@Suite(.timeLimit(.minutes(1))) struct EngineModelTests {
    /// Without quotas: at random they make no sense, and what they do to the pace has tests of its
    /// own.
    static let mishaps: [ScriptedServer.Reply] = [
        .hangUp, .silence, .text("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        .answer(500, code: "InternalServerError"), .answer(503, code: "ServerBusy"),
        .answer(403, code: "ProjectForbidden"), .answer(401, code: "SignatureNotMatch"),
        .answer(401, code: "Unauthorized"), .answer(404, code: "LogStoreNotExist"),
        .answer(404, code: "ProjectNotExist"), .answer(400, code: "PostBodyInvalid"),
        .answer(400, code: "ParameterInvalid"), .answer(400, code: "RequestTimeExpired"),
        .answer(400, code: "InvalidSequenceId"), .answer(418, code: "NobodyKnowsThis"),
    ]

    @Test("No place, pass or packet gets lost under random answers", arguments: 1...4)
    func random(seed: Int) throws {
        let source = try MemorySource()
        let stored = Locked<[String]>([])
        let random = Locked(SeededRandom(seed: UInt64(seed)))
        let server = try ScriptedServer { request, number in
            let mishap = random.withLock { random in
                Int.random(in: 0...3, using: &random) == 0
                    ? nil : Self.mishaps.randomElement(using: &random)
            }
            if number < 300, let mishap { return mishap }
            stored.withLock { $0 += request.values }
            return .stored
        }
        let rig = try Rig(source, server, compression: .none) {
            $0.transport.sendTimeout = .milliseconds(100)
            $0.concurrency = 4
            $0.retryWaits = Backoff(first: .milliseconds(1), longest: .milliseconds(4))
        }
        for number in 1...100 as ClosedRange<Int64> {
            let lane = Lane(key: String(repeating: "b", count: 32), sequence: number)
            source.offer(
                number,
                logstore: "logstore-\(number % 5)",
                rows: 1,
                lane: number % 3 == 0 ? lane : nil
            )
        }
        let all = Set(
            (1...100).flatMap { number in
                (0..<Samples.logsPerRow).map { "value \(number * 100) \($0)" }
            }
        )
        #expect(source.state.wait { $0.unsettled.isEmpty })
        // All places are there: as many requests as ever are stored at a time.
        for number in 1001...1100 as ClosedRange<Int64> {
            source.offer(number, logstore: "logstore-\(number % 5)", rows: 1)
        }
        #expect(source.state.wait { $0.unsettled.isEmpty })
        rig.stop()
        let dead = source.state.now.dead.map { Samples.values(in: $0.log)[0] }
        let missing = all.subtracting(stored.withLock { $0 }).subtracting(dead)
        // A packet in a lane may have been taken for stored: the server refused its number.
        let isInLane = { (value: String) in
            let number = Int(value.split(separator: " ")[1]) ?? 0
            return number / 100 % 3 == 0
        }
        #expect(missing.allSatisfy(isInLane), "\(missing.count) are missing")
        #expect(rig.status.leased == 0 && rig.status.inFlight == 0)
        for outlet in rig.status.outlets {
            #expect(outlet.inFlight == 0 && outlet.waiting == 0, "\(outlet.logstore)")
        }
    }
}

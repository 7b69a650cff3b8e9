import Logs
import Queue
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

extension SandboxedGateway {
    /// Lets so many logs arrive that are dead letters at once, with a long text if given.
    func bury(_ count: Int, code: String = "InvalidKey", long: String? = nil) throws {
        var logs = EncodedLogs()
        for index in 0..<count {
            let time = LogTime(seconds: 1_763_700_000, nanoseconds: 5)
            let fields = [("number", "\(index)"), ("a\"b", "é\n")]
            logs.append(time: time, fields: fields + (long.map { [("long", $0)] } ?? []))
        }
        let reason = DeathReason(code: code, message: "no", requestID: "ABC", status: 400)
        let batch = Batch(
            stream: StreamKey(
                destination: "default",
                logstore: "app",
                trailer: GroupTrailer(topic: "t", tags: [("env", "test")])
            ),
            logs: EncodedLogs(),
            dead: [.init(logs: logs, reason: reason)]
        )
        let done = try WakeUp()
        let outcome = Locked<AppendOutcome?>(nil)
        gateway.store.append([batch]) { result in
            outcome.withLock { $0 = result }
            done.signal()
        }
        while outcome.withLock({ $0 == nil }) { done.wait() }
        #expect(outcome.withLock { $0 } == .stored)
    }
}

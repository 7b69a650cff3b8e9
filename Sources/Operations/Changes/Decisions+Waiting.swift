import Configuration
import HTTP
package import Queue
import System

/// These wait for the queue's thread.
extension Decisions {
    func recall() throws(QueueError) -> [String: [UInt8]] {
        let outcome: Promise<Result<[String: [UInt8]], QueueError>>
        do throws(SystemError) {
            outcome = try Promise()
        } catch {
            throw QueueError(.io, "cannot wait for the queue: \(error).")
        }
        recall { outcome.bring($0) }
        return try outcome.wait().get()
    }

    /// For a start: damage may show only now, and then the queue needs a moment to rebuild itself.
    package func recall(within time: Duration) throws(QueueError) -> [String: [UInt8]] {
        let deadline = Moment.now + time
        while true {
            do throws(QueueError) {
                return try recall()
            } catch {
                guard Moment.now < deadline, let pause = try? WakeUp() else { throw error }
                pause.wait(timeout: .milliseconds(50))
            }
        }
    }

    /// Returns why the decision was not stored; nil when it was.
    package func store(_ decision: Decision) -> DecisionRefusal? {
        guard let outcome = try? Promise<DecisionRefusal?>() else { return .queue(.failing) }
        decide(decision) { outcome.bring($0) }
        return outcome.wait()
    }
}

extension DecisionRefusal {
    /// For operators.
    var reason: String {
        switch self {
        case .tooManySettings:
            "the limit of \(Decision.settingsMax) decisions is reached; reset some (DELETE "
                + "/admin/destinations/NAME, POST …/resume), or put the setting into the configuration file"
        case .tooLarge:
            "the decision exceeds \(Decision.valueBytesMax >> 10) KiB; put the settings into the configuration file"
        case .busy: "too many changes are waiting; try again in a moment"
        case .queue(let admission): admission.reason ?? "the queue cannot be written"
        }
    }
}

extension HTTPProblem {
    init(notStored refusal: DecisionRefusal) {
        let (status, code) =
            switch refusal {
            case .tooManySettings: (409, "TooManySettings")
            case .tooLarge: (400, "ParameterInvalid")
            case .busy, .queue: (503, "ServerBusy")
            }
        self.init(
            status,
            code,
            "the change cannot be stored and was not made: \(refusal.reason)"
        )
    }
}

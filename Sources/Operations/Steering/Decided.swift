package import Configuration
package import Queue
import System

/// All that operators decided while the gateway ran, as it is stored under names of settings.
package struct Decided: Sendable, Equatable {
    /// By destination; it beats the file.
    package var settings: [String: DecidedSettings] = [:]
    /// Stored, and not in force, because it does not go with the configuration any more.
    package var leftOut: [String: DecidedSettings] = [:]
    /// Destinations that send nothing for now.
    package var held: Set<String> = []

    private static let destinationStart = "destination/"
    private static let heldStart = "held/"

    static func setting(ofDestination name: String) -> String { destinationStart + name }
    static func setting(ofHeld name: String) -> String { heldStart + name }

    init() {}

    /// What can be read of what was stored; the rest is named.
    init(_ stored: [String: [UInt8]], unreadable: inout [String]) {
        for (name, value) in stored {
            if name.hasPrefix(Self.heldStart) {
                held.insert(String(name.dropFirst(Self.heldStart.count)))
            } else if name.hasPrefix(Self.destinationStart) {
                let destination = String(name.dropFirst(Self.destinationStart.count))
                do {
                    settings[destination] = try DecidedSettings(json: value)
                } catch {
                    unreadable.append(name)
                }
            }
        }
    }
}

/// Waits for what the queue's thread answers.
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

    /// At a start: damage may show only now, and then the queue needs a moment to rebuild itself.
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

    /// Returns why it was not stored, nil when it was.
    package func store(_ decision: Decision) -> DecisionRefusal? {
        guard let outcome = try? Promise<DecisionRefusal?>() else { return .queue(.failing) }
        decide(decision) { outcome.bring($0) }
        return outcome.wait()
    }
}

package import Configuration
import System

/// `sluice status --watch`: repeats a request and shows its answer until interrupted. Waits for a gateway that goes
/// away.
package struct WatchCommand: Sendable {
    private let inputs: ConfigurationInputs
    private let pause: Duration

    package init(_ inputs: ConfigurationInputs, every pause: Duration) {
        self.inputs = inputs
        self.pause = pause
    }

    /// Returns only when the configuration cannot be read.
    package func run(_ request: AdminRequest) -> CInt {
        guard let sleeper = try? WakeUp() else { return ExitCode.failed }
        let screen = request.accept == "text/plain" ? Screen.current : nil
        while true {
            let access: AdminAccess
            do throws(ConfigurationProblems) {
                // Read again each time, because a new gateway may have created a new token.
                access = try .find(inputs)
            } catch {
                Terminal.complain(error.description)
                return ExitCode.wrong
            }
            let text = answer(access, request)
            Terminal.say(bytes: Array((screen?.drawn(text) ?? "\(text)\n").utf8))
            sleeper.wait(timeout: pause)
        }
    }

    private func answer(_ access: AdminAccess, _ request: AdminRequest) -> String {
        do throws(AdminClient.Unreachable) {
            let answer = try AdminClient(access, patience: .seconds(10)).ask(request)
            return answer.isFine ? answer.text : OperatorCommand.complaint(answer) + "\n"
        } catch {
            return "\(error.description)\n(retrying every \(Int(pause / .seconds(1))) s)\n"
        }
    }
}

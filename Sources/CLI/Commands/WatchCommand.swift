package import Configuration
import System

/// `sluice status --watch`: shows the answer to a request again and again, until it is interrupted. A gateway
/// that goes away is waited for.
package struct WatchCommand: Sendable {
    private let inputs: ConfigurationInputs
    private let pause: Duration

    package init(_ inputs: ConfigurationInputs, every pause: Duration) {
        self.inputs = inputs
        self.pause = pause
    }

    /// Returns only when there is nothing to ask with.
    package func run(_ request: AdminRequest) -> CInt {
        guard let sleeper = try? WakeUp() else { return ExitCode.failed }
        let screen = request.accept == "text/plain" ? Screen.current : nil
        while true {
            let access: AdminAccess
            do throws(ConfigurationProblems) {
                // Anew each time: another gateway may have made itself another token.
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
            return "\(error.description)\n(asked again every \(Int(pause / .seconds(1))) s)\n"
        }
    }
}

package import Configuration
import System

/// `sluice status --watch`: repeats a request and shows its answer until interrupted. Waits for a gateway that goes
/// away.
package struct WatchCommand: Sendable {
    private let inputs: ConfigurationInputs
    private let pause: Duration
    private let isOnScreen: Bool

    package init(_ inputs: ConfigurationInputs, every pause: Duration, onScreen: Bool) {
        self.inputs = inputs
        self.pause = pause
        isOnScreen = onScreen
    }

    /// Returns only when the configuration cannot be read.
    package func run(_ request: AdminRequest) -> CInt {
        guard let sleeper = try? WakeUp() else { return ExitCode.failed }
        let screen = isOnScreen ? Screen.current : nil
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
            let shown = TerminalText.lines(text)
            Terminal.draw(screen?.drawn(shown) ?? "\(shown)\n")
            sleeper.wait(timeout: pause)
        }
    }

    private func answer(_ access: AdminAccess, _ request: AdminRequest) -> String {
        do throws(AdminClient.Unreachable) {
            let answer = try AdminClient(access, patience: .seconds(10)).ask(request)
            guard answer.isFine else { return OperatorCommand.complaint(answer) + "\n" }
            return request.shown?(answer.body, 0) ?? answer.text
        } catch {
            return "\(error.description)\n(retrying every \(Int(pause / .seconds(1))) s)\n"
        }
    }
}

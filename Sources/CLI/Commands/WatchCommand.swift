import Configuration
import System

/// `sluice status --watch`: repeats a request and shows its answer until interrupted. Waits for a
/// gateway that goes away.
struct WatchCommand {
    let inputs: ConfigurationInputs
    let pause: Duration
    let isOnScreen: Bool

    /// Returns only when the configuration cannot be read.
    func run(_ request: AdminRequest) -> CInt {
        guard let sleeper = try? WakeUp() else { return ExitCode.failed }
        let screen = isOnScreen ? Screen.current : nil
        while true {
            // Read again each time, because a new gateway may have created a new token.
            guard let access = configured(try AdminAccess.find(inputs)) else {
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

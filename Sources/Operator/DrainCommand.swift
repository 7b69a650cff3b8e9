package import Gateway
import System

/// `sluice drain`: lets a gateway take no more logs, and watches what is left until it is gone.
package struct DrainCommand: Sendable {
    private let client: AdminClient
    private let patience: Duration
    private let accept: String

    package init(_ access: AdminAccess, patience: Duration, accept: String) {
        client = AdminClient(access)
        self.patience = patience
        self.accept = accept
    }

    /// Tells how much is left whenever that changes; 0 when nothing is.
    package func run() -> CInt {
        let deadline = Moment.now + patience
        var request = AdminRequest(.post, "/admin/drain", accept: accept)
        var said = ""
        do throws(AdminClient.Unreachable) {
            while true {
                let answer = try client.ask(request)
                guard answer.isFine else {
                    Terminal.complain(OperatorCommand.complaint(answer))
                    return ExitCode.failed
                }
                let line = answer.text
                if line != said { Terminal.say(bytes: answer.body) }
                said = line
                if line.contains(": 0 queued") || line.contains("\"queued\":0,") {
                    return ExitCode.fine
                }
                guard Moment.now < deadline else {
                    Terminal.complain(
                        "not everything is delivered yet; the gateway goes on, and takes no logs until: "
                            + "sluice drain --end"
                    )
                    return ExitCode.failed
                }
                request = AdminRequest(.get, "/admin/drain", accept: accept)
                pause(.milliseconds(500))
            }
        } catch {
            Terminal.complain(error.description)
            return ExitCode.failed
        }
    }

    private func pause(_ time: Duration) {
        guard let sleeper = try? WakeUp() else { return }
        sleeper.wait(timeout: time)
    }
}

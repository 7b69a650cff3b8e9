package import Configuration
import System

/// `sluice drain`: stops the gateway's intake and reports the backlog until it is gone.
package struct DrainCommand: Sendable {
    private let client: AdminClient
    private let patience: Duration
    private let isJSON: Bool

    package init(_ access: AdminAccess, patience: Duration, isJSON: Bool) {
        client = AdminClient(access)
        self.patience = patience
        self.isJSON = isJSON
    }

    /// Reports each change; returns 0 when nothing is left.
    package func run() -> CInt {
        let deadline = Moment.now + patience
        var request = AdminRequest(.post, "/admin/drain")
        var first: DrainProgress?
        var last: DrainProgress?
        do throws(AdminClient.Unreachable) {
            while true {
                let answer = try client.ask(request)
                guard answer.isFine else { return failed(OperatorCommand.complaint(answer)) }
                guard let now = DrainProgress(answer.body) else {
                    return failed("the answer cannot be read: \(answer.text)")
                }
                guard now.isDraining else {
                    return failed("the drain was ended; the gateway accepts logs again")
                }
                if now != last { say(now, since: first ?? now, answer) }
                first = first ?? now
                last = now
                if now.isDone { return ExitCode.fine }
                guard Moment.now < deadline else {
                    return failed(
                        (now.whatHolds ?? "not all logs are delivered yet; the gateway continues")
                            + "\nit refuses new logs until: sluice drain --end"
                    )
                }
                request = AdminRequest(.get, "/admin/drain")
                pause(.milliseconds(500))
            }
        } catch {
            return failed(error.description)
        }
    }

    private func say(_ now: DrainProgress, since first: DrainProgress, _ answer: AdminAnswer) {
        Terminal.say(bytes: isJSON ? answer.body : Array("\(now.line(since: first))\n".utf8))
    }

    private func failed(_ reason: String) -> CInt {
        Terminal.complain(reason)
        return ExitCode.failed
    }

    private func pause(_ time: Duration) {
        guard let sleeper = try? WakeUp() else { return }
        sleeper.wait(timeout: time)
    }
}

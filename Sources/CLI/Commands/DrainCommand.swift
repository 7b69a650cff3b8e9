import Configuration
import JSON
import System

/// `sluice drain`: stops the gateway's intake and reports the backlog until it is gone.
struct DrainCommand {
    let patience: Duration
    let isJSON: Bool

    /// Reports each change; returns 0 when nothing is left.
    func run(_ inputs: ConfigurationInputs) -> CInt {
        guard let access = configured(try AdminAccess.find(inputs)) else { return ExitCode.wrong }
        let client = AdminClient(access)
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

/// The progress of a draining gateway, from `/admin/drain`.
struct DrainProgress: Equatable {
    var isDraining = false
    /// Queued logs.
    var queued = 0
    /// Requests being stored.
    var arriving = 0
    /// Queued logs of paused destinations.
    var held = 0
    var dead = 0

    init?(_ body: [UInt8]) {
        guard let json = try? JSONValue(parsing: body),
            case .bool(let isDraining)? = json["draining"],
            let queued = json["queued"]?.wholeNumber, queued >= 0
        else { return nil }
        (self.isDraining, self.queued) = (isDraining, queued)
        arriving = json["arriving"]?.wholeNumber ?? 0
        held = json["held"]?.wholeNumber ?? 0
        dead = json["dead"]?.wholeNumber ?? 0
    }

    /// True when nothing is queued and no request is being stored.
    var isDone: Bool { queued == 0 && arriving == 0 }

    /// "draining: 3800 queued, 1200 of 5000 gone (24%), 20 of paused destinations, 1 dead letter"
    func line(since first: DrainProgress) -> String {
        var parts = ["\(queued) queued"]
        let gone = first.queued - queued
        if gone > 0 {
            parts.append("\(gone) of \(first.queued) gone (\(gone * 100 / first.queued)%)")
        }
        if arriving > 0 { parts.append("\(counted(arriving, "request")) being stored") }
        if held > 0 { parts.append("\(held) of paused destinations") }
        if dead > 0 { parts.append(counted(dead, "dead letter")) }
        return "draining: " + parts.joined(separator: ", ")
    }

    /// Why waiting cannot help, with the remedy; nil otherwise.
    var whatHolds: String? {
        guard held > 0, held == queued else { return nil }
        return "only logs of paused destinations are left; deliver them with: sluice resume --all"
    }
}

import Configuration
import JSON
import System

/// Sends a gateway one request, or one for each page of a listing, and prints the answers.
struct OperatorCommand {
    private let inputs: ConfigurationInputs
    private let patience: Duration

    init(_ inputs: ConfigurationInputs, patience: Duration = .seconds(120)) {
        self.inputs = inputs
        self.patience = patience
    }

    /// Prints the answer; the exit code tells if it was good.
    func run(_ request: AdminRequest) -> CInt {
        guard let access = configured(try AdminAccess.find(inputs)) else { return ExitCode.wrong }
        let client = AdminClient(access, patience: patience)
        var request = request
        var document = request.arrayOfPages.map { PagedDocument(array: $0) }
        var isComplete = true
        var page = 0
        while true {
            do throws(AdminClient.Unreachable) {
                let answer = try client.ask(request)
                guard answer.isFine else {
                    Terminal.complain(Self.complaint(answer, request.shown))
                    return ExitCode.failed
                }
                let shown =
                    document?.part(of: answer.body, isLast: answer.next == nil)
                    ?? request.shown.map { Array($0(answer.body, page).utf8) }
                Terminal.say(bytes: shown ?? answer.body)
                if let missing = answer.missing, isComplete {
                    isComplete = false
                    Terminal.complain("not complete: no answer from \(missing)")
                }
                guard let next = answer.next else {
                    return isComplete ? ExitCode.fine : ExitCode.failed
                }
                page += 1
                request.query.removeAll { $0.name == "after" }
                request.query.append(("after", next))
            } catch {
                Terminal.complain(error.description)
                return ExitCode.failed
            }
        }
    }

    static func complaint(_ answer: AdminAnswer, _ shown: AdminRequest.Shown? = nil) -> String {
        // Only the results of tests at SLS are documents of their views.
        let view = [422, 502].contains(answer.status) ? shown : nil
        // The answer may come from something other than a gateway.
        let text =
            answer.problem
            ?? (view?(answer.body, 0) ?? answer.text).split(separator: "\n").prefix(20)
            .map { TerminalText.sentence(String($0), scalarsMax: 200) }.joined(separator: "\n")
        guard answer.status == 401 else { return text.isEmpty ? "HTTP \(answer.status)" : text }
        return "the gateway refuses the token; set the right one with SLUICE_ADMIN_TOKEN or "
            + "SLUICE_ADMIN_TOKEN_FILE, or name the gateway's configuration with --config"
    }
}

/// `sluice console`: prints where the console is; with `--open` as a link that logs in once.
struct ConsoleCommand {
    let inputs: ConfigurationInputs

    func run(makesLink: Bool) -> CInt {
        guard let access = configured(try AdminAccess.find(inputs)) else { return ExitCode.wrong }
        let place = "\(access.tls == nil ? "http" : "https")://\(access.address)"
        guard makesLink else {
            Terminal.say("\(place)/console/")
            return ExitCode.fine
        }
        do throws(AdminClient.Unreachable) {
            let answer = try AdminClient(access).ask(
                AdminRequest(.post, "/admin/session/code")
            )
            let path = (try? JSONValue(parsing: answer.body))?["path"]?.text
            guard answer.isFine, let path else {
                Terminal.complain(OperatorCommand.complaint(answer))
                return ExitCode.failed
            }
            Terminal.say(place + path)
            Terminal.complain("the link logs in once, within a minute; it is as good as the token")
            return ExitCode.fine
        } catch {
            Terminal.complain(error.description)
            return ExitCode.failed
        }
    }
}

/// `sluice status --watch`: repeats a request until interrupted, even while no gateway answers.
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

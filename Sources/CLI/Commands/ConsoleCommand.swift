import Configuration
import JSON
import System

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

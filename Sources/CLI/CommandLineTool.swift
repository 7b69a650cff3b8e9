import System

/// The command `sluice`: arguments in, exit code out.
package struct CommandLineTool: Sendable {
    private let programs: ServerPrograms

    package init(_ programs: ServerPrograms) {
        self.programs = programs
    }

    package func run(_ words: [String]) -> CInt {
        // The help that explains an error.
        var hint = "sluice help"
        do throws(UsageError) {
            guard let word = words.first, !Help.isWanted(word) else {
                Terminal.say(Help.overview)
                return ExitCode.fine
            }
            if word == "--version" || word == "version" {
                if words.count > 1 { throw UsageError("sluice \(word): unexpected \(words[1])") }
                Terminal.say("sluice \(Version.current)")
                return ExitCode.fine
            }
            let command = try Command.named(word)
            if word != "help" {
                hint += " \(word)"
            } else if words.count > 1, words[1] == "settings" {
                hint += " settings"
            }
            let arguments = try Arguments(Array(words.dropFirst()), of: command, programs)
            if arguments.wantsHelp {
                Terminal.say(Help.of(command).text)
                return ExitCode.fine
            }
            return try command.run(arguments)
        } catch {
            Terminal.complain("\(error.problem) (see: \(hint))")
            return ExitCode.wrong
        }
    }
}

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
            guard let word = words.first else {
                Terminal.say(Help.overview)
                return ExitCode.fine
            }
            if Help.isWanted(word) { return help(nil) }
            if word == "--version" || word == "version" {
                try refuseExtraWords(words, than: 1)
                Terminal.say("sluice \(Version.current)")
                return ExitCode.fine
            }
            if Array(words.prefix(2)) == ["help", "metrics"] {
                return try helpOnMetrics(words)
            }
            if word == "help" {
                if words.count > 1, words[1] == "settings" {
                    hint += " settings"
                    Terminal.say(try SettingsHelp(Array(words.dropFirst(2))).text())
                    return ExitCode.fine
                }
                try refuseExtraWords(words, than: 2)
                return try help(about: words.dropFirst())
            }
            let command = try Command.named(word)
            hint += " \(command.name)"
            let arguments = try Arguments(Array(words.dropFirst()), of: command, programs)
            if arguments.wantsHelp { return help(command) }
            return try command.run(arguments)
        } catch {
            Terminal.complain("\(error.problem) (see: \(hint))")
            return ExitCode.wrong
        }
    }

    private func refuseExtraWords(_ words: [String], than count: Int) throws(UsageError) {
        guard words.count > count else { return }
        throw UsageError("sluice \(words[0]): unexpected \(words[count])")
    }

    private func help(about words: ArraySlice<String>) throws(UsageError) -> CInt {
        guard let word = words.first else { return help(nil) }
        return help(try Command.named(word))
    }

    private func helpOnMetrics(_ words: [String]) throws(UsageError) -> CInt {
        let asMarkdown = words.dropFirst(2).first == "--markdown"
        try refuseExtraWords(words, than: asMarkdown ? 3 : 2)
        Terminal.say(programs.helpOnMetrics(asMarkdown))
        return ExitCode.fine
    }

    private func help(_ command: Command?) -> CInt {
        Terminal.say(command.map { Help.of($0) } ?? Help.overview)
        return ExitCode.fine
    }
}

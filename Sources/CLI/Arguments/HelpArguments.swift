import System

/// `sluice help …`.
enum HelpArguments {
    static func run(_ arguments: Arguments) throws(UsageError) -> CInt {
        Terminal.say(try text(arguments))
        return ExitCode.fine
    }

    private static func text(_ arguments: Arguments) throws(UsageError) -> String {
        let (topic, rest) = (arguments.words.first, arguments.words.dropFirst())
        if topic == "settings" {
            return try SettingsHelp(rest.first).text(arguments.flags)
        }
        if let extra = rest.first { throw UsageError("sluice help: unexpected \(extra)") }
        switch (topic, arguments.flags) {
        case (nil, []): return Help.overview
        case (nil, ["--man"]): return ManualPage.sluice
        case ("metrics", []): return arguments.programs.helpOnMetrics(false)
        case ("metrics", ["--markdown"]): return arguments.programs.helpOnMetrics(true)
        case (let topic?, []): return Help.of(try Command.named(topic)).text
        default: throw misplaced(arguments.flags)
        }
    }

    static func misplaced(_ options: Set<String>) -> UsageError {
        let verb = options.count == 1 ? "does" : "do"
        return UsageError(
            "\(options.sorted().joined(separator: " and ")) \(verb) not go with these words"
        )
    }
}

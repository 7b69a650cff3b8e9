package import Configuration
import Rendering

/// A command of `sluice` in one row: its name, the words that it takes, and what it does.
struct Command: Sendable {
    let name: String
    /// The number of words it accepts besides options.
    var wordsMax = 0
    let run: @Sendable (Arguments) throws(UsageError) -> CInt

    static let all: [Command] = [
        Command(name: "serve") { $0.programs.serve($0.inputs) },
        Command(name: "check") {
            Check(inputs: $0.inputs, isOffline: $0.flags.contains("--offline")).run()
        },
        Command(name: "sandbox") {
            $0.programs.sandbox($0.inputs, $0.values["--storage"], $0.flags.contains("--resolver"))
        },
        Command(name: "fsck", wordsMax: 1) { arguments throws(UsageError) in
            QueueCheck(path: try arguments.path("DIR"), isJSON: arguments.isJSON).run()
        },
        Command(name: "backup", wordsMax: 1) { arguments throws(UsageError) in
            let path = try arguments.path("FILE")
            return QueueBackup(inputs: arguments.inputs, path: path, isJSON: arguments.isJSON).run()
        },
        Command(name: "shards", wordsMax: 2, run: ShardArguments.list),
        Command(name: "restore", wordsMax: 2, run: ShardArguments.restore),
        Command(name: "help", wordsMax: 2, run: HelpArguments.run),
        Command(name: "completion", wordsMax: 1, run: Completion.run),
        // For a running gateway.
        Command(name: "health") {
            OperatorCommand($0.inputs, patience: HealthArguments.patience)
                .run(HealthArguments.request($0))
        },
        Command(name: "status", run: StatusArguments.run),
        asking("rotate", words: 1, RotateArguments.request),
        asking("credentials", words: 2, RotateArguments.credentials),
        asking("destinations", words: 40, DestinationArguments.request),
        asking("pause", words: 1, DestinationArguments.pause),
        asking("resume", words: 1, DestinationArguments.pause),
        asking("flush", words: 1, DestinationArguments.pause),
        Command(name: "drain", run: DrainArguments.run),
        asking("queue", QueueArguments.request),
        Command(name: "tail", run: TailArguments.run),
        Command(name: "route", wordsMax: 1, run: RouteArguments.run),
        asking("resolve", words: 1, ResolverArguments.request),
        Command(name: "console") {
            ConsoleCommand(inputs: $0.inputs).run(makesLink: $0.flags.contains("--open"))
        },
        // A verb, a capture and a record.
        asking("capture", words: 3, CaptureArguments.request),
        asking("refusals") { AdminRequest(.get, "/admin/refusals", shown: $0.view(.refusals)) },
        asking("clients") { AdminRequest(.get, "/admin/clients", shown: $0.view(.clients)) },
        asking("configuration") {
            AdminRequest(.get, "/admin/configuration", shown: $0.view(.configuration))
        },
        // A verb and the letters' numbers; a filter is better for more.
        asking("dead-letters", words: 501, DeadLetterArguments.request),
    ]

    /// A command that is one request to a running gateway.
    private static func asking(
        _ name: String,
        words: Int = 0,
        _ request: @escaping @Sendable (Arguments) throws(UsageError) -> AdminRequest
    ) -> Command {
        Command(name: name, wordsMax: words) { arguments throws(UsageError) in
            OperatorCommand(arguments.inputs).run(try request(arguments))
        }
    }

    static func named(_ word: String) throws(UsageError) -> Command {
        guard let command = all.first(where: { $0.name == word }) else {
            throw .unknown("command", word, among: all.map(\.name))
        }
        return command
    }

    /// Its help, taken apart.
    var help: [HelpEntry] { HelpEntry.entries(of: Help.of(self).text) }

    var options: [HelpEntry] { help.filter(\.isOption) }
}

extension Arguments {
    private static let settingOptions: Set<String> = [
        "--listen", "--admin-listen", "--admin-ca", "--admin-cert", "--admin-key", "--data-dir",
        "--log-level",
    ]

    /// Text by default, JSON with --json.
    var isJSON: Bool { flags.contains("--json") }

    /// Shows answers to people; nil with `--json`.
    func view(_ view: View) -> AdminRequest.Shown? {
        guard !isJSON else { return nil }
        return { answer, page in view.text(of: answer, page: page) }
    }

    var inputs: ConfigurationInputs {
        var settings = values
        let file = settings.removeValue(forKey: "--config")
        settings = settings.filter { Self.settingOptions.contains($0.key) }
        return ConfigurationInputs(
            file: file,
            options: settings,
            environment: environmentVariables(),
            isSandboxed: flags.contains("--sandbox")
        )
    }
}

/// The programs behind some commands, passed in so that the command line does not link the server.
package struct ServerPrograms: Sendable {
    package typealias Sandbox =
        @Sendable (ConfigurationInputs, _ storage: String?, _ hasResolvers: Bool) -> CInt
    /// Answers the body of `POST /admin/routes/test`, or says what is wrong with it.
    package typealias RouteTest =
        @Sendable (_ body: [UInt8], GatewayConfiguration) -> (isFine: Bool, text: String)

    let serve: @Sendable (ConfigurationInputs) -> CInt
    let sandbox: Sandbox
    let testRoutes: RouteTest
    let helpOnMetrics: @Sendable (_ asMarkdown: Bool) -> String

    package init(
        serve: @escaping @Sendable (ConfigurationInputs) -> CInt,
        sandbox: @escaping Sandbox,
        testRoutes: @escaping RouteTest,
        helpOnMetrics: @escaping @Sendable (_ asMarkdown: Bool) -> String
    ) {
        self.serve = serve
        self.sandbox = sandbox
        self.testRoutes = testRoutes
        self.helpOnMetrics = helpOnMetrics
    }
}

package import Configuration
import Rendering

/// The commands of `sluice`.
enum Command: String, CaseIterable {
    case serve, check, sandbox, health, status, destinations, pause, resume, flush, drain
    case credentials, rotate, tail, queue, route, resolve, fsck, backup
    case shards, restore
    case console, capture, refusals, clients, configuration
    case deadLetters = "dead-letters"

    init(named word: String) throws(UsageError) {
        guard let command = Command(rawValue: word) else {
            let names = Self.allCases.map(\.rawValue) + ["help"]
            throw .unknown("command", word, among: names)
        }
        self = command
    }

    /// An option's name and its value's placeholder in the help; nil for an option without a value.
    typealias Option = (name: String, value: String?)

    /// The options in the help: those with a line of their own and those of the usage. A value
    /// follows its option after one space.
    var options: [Option] {
        let lines = Help.of(self).split(separator: "\n", omittingEmptySubsequences: false)
        let usage = lines.prefix { !$0.isEmpty }.flatMap {
            $0.replacing("[", with: "").replacing("]", with: "").split(separator: " --").dropFirst()
        }
        let own = lines.filter { $0.hasPrefix("  --") }.map { $0.dropFirst(4) }
        return (own + usage).map { text in
            let name = text.prefix { !" [".contains($0) }
            let rest = text.dropFirst(name.count)
            let value = rest.drop { $0 == " " }.prefix { $0 != " " }
            let isFar = rest.isEmpty || rest.hasPrefix("  ")
            return ("--\(name)", isFar ? nil : String(value))
        }
    }

    /// The number of words it accepts besides options.
    var wordsMax: Int {
        switch self {
        case .deadLetters: DeadLetterArguments.wordsMax
        case .destinations: DestinationArguments.wordsMax
        case .pause, .resume, .flush, .rotate, .route, .resolve, .fsck, .backup: 1
        case .credentials, .shards, .restore: 2
        case .capture: CaptureArguments.wordsMax
        case .serve, .check, .sandbox, .health, .status, .drain, .tail, .queue, .console, .refusals,
            .clients, .configuration:
            0
        }
    }

    func run(
        _ arguments: Arguments,
        _ server: ServerPrograms
    ) throws(UsageError) -> CInt {
        func ask(_ request: AdminRequest) -> CInt { OperatorCommand(arguments.inputs).run(request) }
        switch self {
        case .serve: return server.serve(arguments.inputs)
        case .check:
            let isOffline = arguments.flags.contains("--offline")
            return Check(inputs: arguments.inputs, isOffline: isOffline).run()
        case .health:
            return OperatorCommand(arguments.inputs, patience: HealthArguments.patience)
                .run(HealthArguments.request(arguments))
        case .status:
            let request = StatusArguments.request(arguments)
            guard let pause = try StatusArguments.pause(arguments) else {
                return ask(request)
            }
            let isOnScreen = !arguments.isJSON
            return WatchCommand(inputs: arguments.inputs, pause: pause, isOnScreen: isOnScreen)
                .run(request)
        case .destinations: return ask(try DestinationArguments.request(arguments))
        case .credentials: return ask(try RotateArguments.credentials(arguments))
        case .rotate: return ask(try RotateArguments.request(arguments))
        case .pause, .resume, .flush:
            return ask(try DestinationArguments.request(rawValue, arguments))
        case .drain:
            guard arguments.flags.contains("--end") else {
                return OperatorCommand(arguments.inputs).drain(
                    patience: try DrainArguments.patience(arguments),
                    isJSON: arguments.isJSON
                )
            }
            return ask(AdminRequest(.delete, "/admin/drain", shown: arguments.view(.drain)))
        case .tail:
            var command = TailCommand(
                arguments.inputs,
                isJSON: arguments.isJSON,
                limit: try TailArguments.limit(arguments)
            )
            return command.run(TailArguments.request(arguments))
        case .queue: return ask(try QueueArguments.request(arguments))
        case .console:
            return ConsoleCommand(inputs: arguments.inputs).run(
                makesLink: arguments.flags.contains("--open")
            )
        case .capture: return ask(try CaptureArguments.request(arguments))
        case .refusals, .clients, .configuration:
            let shown = View(rawValue: rawValue).flatMap { arguments.view($0) }
            return ask(AdminRequest(.get, "/admin/\(rawValue)", shown: shown))
        case .resolve: return ask(try ResolverArguments.request(arguments))
        case .route:
            let request = try RouteArguments.request(arguments)
            guard try RouteArguments.isOffline(arguments) else {
                return ask(request)
            }
            return OfflineRouteTest(arguments.inputs, server.testRoutes).run(request)
        case .deadLetters: return ask(try DeadLetterArguments.request(arguments))
        case .fsck:
            let path = try arguments.path("DIR", of: self)
            return QueueCheck(path: path, isJSON: arguments.isJSON).run()
        case .backup:
            let path = try arguments.path("FILE", of: self)
            return QueueBackup(inputs: arguments.inputs, path: path, isJSON: arguments.isJSON).run()
        case .shards: return try ShardArguments.list(arguments, arguments.inputs)
        case .restore: return try ShardArguments.restore(arguments, arguments.inputs)
        case .sandbox:
            return server.sandbox(
                .init(
                    listen: arguments.values["--listen"],
                    storage: arguments.values["--storage"],
                    hasResolvers: arguments.flags.contains("--resolver"),
                    environment: environmentVariables()
                )
            )
        }
    }
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

    fileprivate var inputs: ConfigurationInputs {
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
    package struct Sandbox: Sendable {
        package let listen: String?
        package let storage: String?
        package let hasResolvers: Bool
        package let environment: [String: String]
    }

    let serve: @Sendable (ConfigurationInputs) -> CInt
    let sandbox: @Sendable (Sandbox) -> CInt
    let testRoutes: OfflineRouteTest.Program
    let helpOnMetrics: @Sendable (_ asMarkdown: Bool) -> String

    package init(
        serve: @escaping @Sendable (ConfigurationInputs) -> CInt,
        sandbox: @escaping @Sendable (Sandbox) -> CInt,
        testRoutes: @escaping OfflineRouteTest.Program,
        helpOnMetrics: @escaping @Sendable (_ asMarkdown: Bool) -> String
    ) {
        self.serve = serve
        self.sandbox = sandbox
        self.testRoutes = testRoutes
        self.helpOnMetrics = helpOnMetrics
    }
}

import Configuration
import Rendering

// Requests of the commands that show a running gateway, or drain it.

/// `sluice health …`.
enum HealthArguments {
    /// Container engines hide the message of a health check that they stop, so this gives up
    /// earlier.
    static let patience = Duration.seconds(4)

    static func request(_ arguments: Arguments) -> AdminRequest {
        let path = arguments.flags.contains("--ready") ? "/readyz" : "/healthz"
        return AdminRequest(.get, path, shown: arguments.view(.readiness))
    }
}

/// `sluice queue …`. The gateway checks the values.
enum QueueArguments {
    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let isPeek = arguments.flags.contains("--peek")
        let foreign = isPeek ? ["--streams", "--order"] : ["--logstore", "--limit"]
        if let option = foreign.first(where: { arguments.values[$0] != nil }) {
            throw UsageError(
                isPeek ? "\(option) does not go with --peek" : "\(option) needs --peek"
            )
        }
        return AdminRequest(
            .get,
            isPeek ? "/admin/queue/peek" : "/admin/queue",
            query: arguments.query(["destination", "logstore", "limit", "streams", "order"]),
            shown: arguments.view(isPeek ? .waitingLogs : .queue)
        )
    }
}

/// `sluice status …`.
enum StatusArguments {
    static func run(_ arguments: Arguments) throws(UsageError) -> CInt {
        let (inputs, request) = (arguments.inputs, request(arguments))
        guard let pause = try pause(arguments) else { return OperatorCommand(inputs).run(request) }
        return WatchCommand(inputs: inputs, pause: pause, isOnScreen: !arguments.isJSON)
            .run(request)
    }

    private static func request(_ arguments: Arguments) -> AdminRequest {
        var request = AdminRequest(.get, "/admin/status", shown: arguments.view(.status))
        if arguments.flags.contains("--cluster") {
            let isJSON = arguments.isJSON
            // The part about the cluster is made here, from the whole status.
            request.shown = { status, _ in ClusterStatus.text(of: status, asJSON: isJSON) }
        }
        return request
    }

    /// The pause between repetitions; nil shows the status once.
    private static func pause(_ arguments: Arguments) throws(UsageError) -> Duration? {
        let rule = "--watch is a number of seconds, 1 to 86400: --watch=5"
        let seconds = try arguments.number("--watch", in: 1...86_400, rule)
        return seconds.map { .seconds($0) }
            ?? (arguments.flags.contains("--watch") ? .seconds(2) : nil)
    }
}

/// `sluice tail …`.
enum TailArguments {
    static func run(_ arguments: Arguments) throws(UsageError) -> CInt {
        // The number of logs after which the tail ends; nil for no limit.
        let rule = "--limit is a number of logs, 1 or more"
        let limit = try arguments.number("--limit", in: 1...Int.max, rule)
        var command = TailCommand(arguments.inputs, isJSON: arguments.isJSON, limit: limit)
        return command.run(request(arguments))
    }

    private static func request(_ arguments: Arguments) -> AdminRequest {
        var query = arguments.query(["destination", "logstore", "topic", "rate"])
        for name in ["tag", "field"] {
            query += (arguments.lists["--\(name)"] ?? []).map { (name, $0) }
        }
        return AdminRequest(.get, "/admin/tail", query: query, accept: "text/event-stream")
    }
}

/// `sluice drain …`.
enum DrainArguments {
    static func run(_ arguments: Arguments) throws(UsageError) -> CInt {
        guard !arguments.flags.contains("--end") else {
            let request = AdminRequest(.delete, "/admin/drain", shown: arguments.view(.drain))
            return OperatorCommand(arguments.inputs).run(request)
        }
        let rule = "--timeout is a number of seconds, at most 86400"
        let seconds = try arguments.number("--timeout", in: 0...86_400, rule) ?? 60
        return DrainCommand(patience: .seconds(seconds), isJSON: arguments.isJSON)
            .run(arguments.inputs)
    }
}

/// `sluice resolve …`. The gateway checks the values.
enum ResolverArguments {
    /// Without a host it shows what is known.
    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let given = arguments.query(["with", "port"])
        let host = arguments.words.first.map { [(name: "host", value: $0)] } ?? []
        if arguments.flags.contains("--refresh") {
            guard given.isEmpty else {
                throw UsageError(
                    "--refresh asks all resolvers of a host; leave --with and --port out"
                )
            }
            let path = "/admin/resolvers/refresh"
            return AdminRequest(.post, path, query: host, shown: arguments.view(.resolverRefresh))
        }
        guard !host.isEmpty else {
            guard given.isEmpty else {
                throw UsageError("--with and --port need a host: sluice resolve HOST")
            }
            return AdminRequest(.get, "/admin/resolvers", shown: arguments.view(.resolvers))
        }
        let path = "/admin/resolvers/lookup"
        return AdminRequest(.post, path, query: host + given, shown: arguments.view(.lookup))
    }
}

/// The arguments of `sluice shards` and `sluice restore`.
enum ShardArguments {
    static func list(_ arguments: Arguments) throws(UsageError) -> CInt {
        let commands = ShardCommands(inputs: arguments.inputs, isJSON: arguments.isJSON)
        guard let verb = arguments.words.first else { return commands.list() }
        guard verb == "add" else {
            throw UsageError("sluice shards: unexpected \(verb)")
        }
        guard arguments.words.count == 2 else {
            throw UsageError("shards add needs a value: sluice shards add DIR")
        }
        return commands.add(directory(arguments.words[1]))
    }

    static func restore(_ arguments: Arguments) throws(UsageError) -> CInt {
        guard arguments.words.count == 2 else {
            throw UsageError("restore needs two values: sluice restore SHARD FILE")
        }
        let commands = ShardCommands(inputs: arguments.inputs, isJSON: arguments.isJSON)
        let shard = arguments.words[0]
        if arguments.flags.contains("--take") {
            guard !arguments.flags.contains("--partial") else {
                throw UsageError("--take and --partial exclude each other")
            }
            return commands.take(shard, to: directory(arguments.words[1]))
        }
        let acceptsPartial = arguments.flags.contains("--partial")
        return commands.restore(shard, to: arguments.words[1], acceptsPartial: acceptsPartial)
    }

    /// Without the slashes at its end, which paths in it would repeat.
    private static func directory(_ word: String) -> String {
        var path = word[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        return String(path)
    }
}

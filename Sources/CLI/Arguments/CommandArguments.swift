import Configuration
import Rendering

// Requests of the commands that show a running gateway, or drain it.

/// `sluice health …`.
enum HealthArguments {
    /// Container engines stop a health check after some seconds and then hide its message, so this
    /// gives up earlier.
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
                isPeek ? "\(option) does not go with --peek" : "\(option) needs --peek",
                hint: "sluice help queue"
            )
        }
        guard !isPeek else {
            let query = ["destination", "logstore", "limit"].compactMap { name in
                arguments.values["--\(name)"].map { (name: name, value: $0) }
            }
            let shown = arguments.view(.waitingLogs)
            return AdminRequest(.get, "/admin/queue/peek", query: query, shown: shown)
        }
        let query = ["destination", "streams", "order"].compactMap { name in
            arguments.values["--\(name)"].map { (name: name, value: $0) }
        }
        return AdminRequest(.get, "/admin/queue", query: query, shown: arguments.view(.queue))
    }
}

/// `sluice status …`.
enum StatusArguments {
    static func request(_ arguments: Arguments) -> AdminRequest {
        var request = AdminRequest(.get, "/admin/status", shown: arguments.view(.status))
        if arguments.flags.contains("--cluster") {
            let isJSON = arguments.isJSON
            // The part about the cluster is made here, from the whole status.
            request.shown = { status, _ in ClusterStatus.text(of: status, asJSON: isJSON) }
        }
        return request
    }

    /// The pause between repetitions; nil shows the status once.
    static func pause(_ arguments: Arguments) throws(UsageError) -> Duration? {
        guard let text = arguments.values["--watch"] else {
            return arguments.flags.contains("--watch") ? .seconds(2) : nil
        }
        guard let seconds = Int64(text), (1...86_400).contains(seconds) else {
            throw UsageError(
                "--watch is a number of seconds, 1 to 86400: --watch=5",
                hint: "sluice help status"
            )
        }
        return .seconds(seconds)
    }
}

/// `sluice tail …`.
enum TailArguments {
    static func request(_ arguments: Arguments) -> AdminRequest {
        var query: [(name: String, value: String)] = []
        for name in ["destination", "logstore", "topic", "rate"] {
            if let value = arguments.values["--\(name)"] { query.append((name, value)) }
        }
        for name in ["tag", "field"] {
            query += (arguments.lists["--\(name)"] ?? []).map { (name, $0) }
        }
        return AdminRequest(.get, "/admin/tail", query: query, accept: "text/event-stream")
    }

    /// The number of logs after which the tail ends; nil for no limit.
    static func limit(_ arguments: Arguments) throws(UsageError) -> Int? {
        guard let text = arguments.values["--limit"] else { return nil }
        guard let count = Int(text), count > 0 else {
            throw UsageError("--limit is a number of logs, 1 or more", hint: "sluice help tail")
        }
        return count
    }
}

/// `sluice drain …`.
enum DrainArguments {
    static func patience(_ arguments: Arguments) throws(UsageError) -> Duration {
        guard let text = arguments.values["--timeout"] else { return .seconds(60) }
        guard let seconds = Int64(text), (0...86_400).contains(seconds) else {
            throw UsageError(
                "--timeout is a number of seconds, at most 86400",
                hint: "sluice help drain"
            )
        }
        return .seconds(seconds)
    }
}

/// `sluice resolve …`. The gateway checks the values.
enum ResolverArguments {
    /// Without a host it shows what is known.
    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let given = [("with", "--with"), ("port", "--port")].compactMap { name, option in
            arguments.values[option].map { (name: name, value: $0) }
        }
        let host = arguments.words.first.map { [(name: "host", value: $0)] } ?? []
        if arguments.flags.contains("--refresh") {
            guard given.isEmpty else {
                throw UsageError(
                    "--refresh asks all resolvers of a host; leave --with and --port out",
                    hint: "sluice help resolve"
                )
            }
            let path = "/admin/resolvers/refresh"
            return AdminRequest(.post, path, query: host, shown: arguments.view(.resolverRefresh))
        }
        guard !host.isEmpty else {
            guard given.isEmpty else {
                throw UsageError(
                    "--with and --port need a host: sluice resolve HOST",
                    hint: "sluice help resolve"
                )
            }
            return AdminRequest(.get, "/admin/resolvers", shown: arguments.view(.resolvers))
        }
        let path = "/admin/resolvers/lookup"
        return AdminRequest(.post, path, query: host + given, shown: arguments.view(.lookup))
    }
}

/// The arguments of `sluice shards` and `sluice restore`.
enum ShardArguments {
    static func list(
        _ arguments: Arguments,
        _ inputs: ConfigurationInputs
    ) throws(UsageError) -> CInt {
        let commands = ShardCommands(inputs: inputs, isJSON: arguments.isJSON)
        guard let verb = arguments.words.first else { return commands.list() }
        let hint = "sluice help shards"
        guard verb == "add" else {
            throw UsageError("sluice shards: unexpected \(verb)", hint: hint)
        }
        guard arguments.words.count == 2 else {
            throw UsageError("shards add needs a value: sluice shards add DIR", hint: hint)
        }
        return commands.add(directory(arguments.words[1]))
    }

    static func restore(
        _ arguments: Arguments,
        _ inputs: ConfigurationInputs
    ) throws(UsageError) -> CInt {
        guard arguments.words.count == 2 else {
            throw UsageError(
                "restore needs two values: sluice restore SHARD FILE",
                hint: "sluice help restore"
            )
        }
        let commands = ShardCommands(inputs: inputs, isJSON: arguments.isJSON)
        let shard = arguments.words[0]
        if arguments.flags.contains("--take") {
            guard !arguments.flags.contains("--partial") else {
                throw UsageError(
                    "--take and --partial exclude each other",
                    hint: "sluice help restore"
                )
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

import Configuration

/// The arguments of `sluice shards` and `sluice restore`.
enum ShardArguments {
    static let listOptions: [Command.Option] = [("--config", "FILE"), ("--json", nil)]
    static let restoreOptions: [Command.Option] = [
        ("--config", "FILE"), ("--json", nil), ("--partial", nil), ("--take", nil),
    ]

    static func list(
        _ arguments: Arguments,
        _ inputs: ConfigurationInputs
    ) throws(UsageError) -> CInt {
        let isJSON = arguments.flags.contains("--json")
        guard let verb = arguments.words.first else {
            return ShardListCommand(inputs, isJSON: isJSON).run()
        }
        let hint = "sluice help shards"
        guard verb == "add" else {
            throw UsageError("sluice shards: unexpected \(verb)", hint: hint)
        }
        guard arguments.words.count == 2 else {
            throw UsageError("shards add needs a value: sluice shards add DIR", hint: hint)
        }
        return QueueToShardCommand(inputs, from: directory(arguments.words[1]), isJSON: isJSON)
            .run()
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
        let isJSON = arguments.flags.contains("--json")
        if arguments.flags.contains("--take") {
            guard !arguments.flags.contains("--partial") else {
                throw UsageError(
                    "--take and --partial exclude each other",
                    hint: "sluice help restore"
                )
            }
            let path = directory(arguments.words[1])
            return ShardToQueueCommand(inputs, of: arguments.words[0], to: path, isJSON: isJSON)
                .run()
        }
        return ShardRestoreCommand(
            inputs,
            of: arguments.words[0],
            to: arguments.words[1],
            acceptsPartial: arguments.flags.contains("--partial"),
            isJSON: isJSON
        ).run()
    }

    /// Without the slashes at its end, which paths in it would repeat.
    private static func directory(_ word: String) -> String {
        var path = word[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        return String(path)
    }
}

import Configuration

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

import Configuration

/// The arguments of `sluice shards` and `sluice restore`.
enum ShardArguments {
    static let listOptions: [Command.Option] = [("--config", "FILE"), ("--json", nil)]
    static let restoreOptions: [Command.Option] = [
        ("--config", "FILE"), ("--json", nil), ("--partial", nil),
    ]

    static func list(
        _ arguments: Arguments,
        _ inputs: ConfigurationInputs
    ) throws(UsageError) -> CInt {
        if let word = arguments.words.first {
            throw UsageError("sluice shards: unexpected \(word)", hint: "sluice help shards")
        }
        return ShardList(inputs, isJSON: arguments.flags.contains("--json")).run()
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
        return ShardFileRestore(
            inputs,
            of: arguments.words[0],
            to: arguments.words[1],
            keepsWhole: arguments.flags.contains("--partial"),
            isJSON: arguments.flags.contains("--json")
        ).run()
    }
}

/// `sluice fsck DIR` and `sluice backup FILE`.
enum StoreArguments {
    static let check: KeyValuePairs<String, String?> = ["--json": nil]
    static let backup: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--data-dir": "DIR", "--json": nil,
    ]

    static func word(
        _ arguments: Arguments,
        _ command: String,
        _ name: String
    ) throws(UsageError) -> String {
        guard let word = arguments.words.first, !word.isEmpty else {
            throw UsageError(
                "\(command) needs a value: sluice \(command) \(name)",
                hint: "sluice help \(command)"
            )
        }
        return word
    }
}

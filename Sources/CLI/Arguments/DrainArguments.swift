/// `sluice drain …`.
enum DrainArguments {
    static let options: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--admin-listen": "ADDRESS", "--admin-ca": "FILE",
        "--admin-cert": "FILE",
        "--admin-key": "FILE", "--data-dir": "DIR", "--json": nil,
        "--timeout": "SECONDS", "--end": nil,
    ]

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

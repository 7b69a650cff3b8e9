/// `sluice status …`.
enum StatusArguments {
    static let options: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--admin-listen": "ADDRESS", "--admin-ca": "FILE",
        "--admin-cert": "FILE",
        "--admin-key": "FILE", "--data-dir": "DIR", "--json": nil,
        "--watch": "[=SECONDS]",
    ]

    static func request(_ arguments: Arguments) -> AdminRequest {
        AdminRequest(.get, "/admin/status", accept: arguments.accept)
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

/// `sluice health …`.
enum HealthArguments {
    static let options: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--admin-listen": "ADDRESS", "--admin-ca": "FILE",
        "--admin-cert": "FILE", "--admin-key": "FILE", "--data-dir": "DIR", "--json": nil,
        "--ready": nil,
    ]

    /// An engine that asks gives up after some seconds, and then tells nobody what was wrong.
    static let patience = Duration.seconds(4)

    static func request(_ arguments: Arguments) -> AdminRequest {
        let path = arguments.flags.contains("--ready") ? "/readyz" : "/healthz"
        return AdminRequest(.get, path, accept: arguments.accept)
    }
}

/// `sluice health …`.
enum HealthArguments {
    static let options: KeyValuePairs<String, String?> = [
        "--config": "FILE", "--admin-listen": "ADDRESS", "--admin-ca": "FILE",
        "--admin-cert": "FILE", "--admin-key": "FILE", "--data-dir": "DIR", "--json": nil,
        "--ready": nil,
    ]

    /// Container engines stop a health check after some seconds and then hide its message, so this gives up earlier.
    static let patience = Duration.seconds(4)

    static func request(_ arguments: Arguments) -> AdminRequest {
        let path = arguments.flags.contains("--ready") ? "/readyz" : "/healthz"
        return AdminRequest(.get, path, accept: arguments.accept)
    }
}

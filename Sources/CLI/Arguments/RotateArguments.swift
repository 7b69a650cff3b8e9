import JSON
import Rendering

/// `sluice rotate NAME` and `sluice credentials …`. A secret is never an argument, because every
/// user of the machine can read those.
enum RotateArguments {
    private static let path = "/admin/credentials"
    private static let bytesMax = 64 << 10

    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let hint = "sluice help rotate"
        let name = arguments.words.first ?? "default"
        let file = arguments.values["--file"]
        let fromEnvironment = arguments.flags.contains("--environment")
        guard (file != nil) != fromEnvironment else {
            throw UsageError(
                "rotate needs --file FILE (- is stdin) or --environment",
                hint: hint
            )
        }
        let body: [UInt8]
        if let file {
            body = try FileContents.read(file, bytesMax: bytesMax, hint: hint)
        } else {
            body = try environmentBody(hint)
        }
        return AdminRequest(
            .put,
            "\(path)/\(AdminRequest.encoded(name))",
            query: arguments.flags.contains("--force") ? [("force", "true")] : [],
            body: body,
            shown: arguments.view(.credentials)
        )
    }

    /// `credentials [list]`, `show NAME`, `verify NAME` or `forget NAME`.
    static func credentials(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let hint = "sluice help credentials"
        let verbs = ["list", "show", "verify", "forget"]
        let verb = arguments.words.first ?? "list"
        guard verbs.contains(verb) else { throw .unknown("verb", verb, among: verbs, hint: hint) }
        let shown = arguments.view(.credentials)
        guard verb != "list" else { return AdminRequest(.get, path, shown: shown) }
        guard arguments.words.count == 2 else {
            throw UsageError("\(verb) needs the name of a credential", hint: hint)
        }
        let one = "\(path)/\(AdminRequest.encoded(arguments.words[1]))"
        switch verb {
        case "verify": return AdminRequest(.post, one + "/verify", shown: arguments.view(.proofs))
        case "forget": return AdminRequest(.delete, one, shown: shown)
        default: return AdminRequest(.get, one, shown: shown)
        }
    }

    private static func environmentBody(_ hint: String) throws(UsageError) -> [UInt8] {
        let environment = environmentVariables()
        var members: [(name: String, value: String)] = []
        let names = [
            ("AccessKeyId", "ALIBABA_CLOUD_ACCESS_KEY_ID", true),
            ("AccessKeySecret", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", true),
            ("SecurityToken", "ALIBABA_CLOUD_SECURITY_TOKEN", false),
        ]
        for (member, variable, isNeeded) in names {
            guard let value = environment[variable], !value.isEmpty else {
                if isNeeded { throw UsageError("the environment has no \(variable)", hint: hint) }
                continue
            }
            members.append((member, value))
        }
        return JSONWriter { json in
            for (name, value) in members { json.member(name, value) }
        }.bytes
    }
}

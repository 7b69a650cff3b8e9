import JSON
import Rendering

/// Turns the words of `sluice destinations …`, `pause`, `resume` and `flush` into requests.
enum DestinationArguments {
    private enum Verb: String, CaseIterable {
        case list, show, set, reset, test
    }

    private static let path = "/admin/destinations"

    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let verb = try arguments.verb(orElse: Verb.list)
        let shown = arguments.view(.destinations)
        let rest = Array(arguments.words.dropFirst())
        if verb == .list {
            guard rest.isEmpty else { throw UsageError("list takes no name") }
            return AdminRequest(.get, path, shown: shown)
        }
        guard let name = rest.first else {
            throw UsageError("\(verb) needs the name of a destination")
        }
        let one = "\(path)/\(AdminRequest.encoded(name))"
        if verb == .set {
            let patch = try patch(Array(rest.dropFirst()))
            return AdminRequest(.patch, one, body: patch, shown: shown)
        }
        guard rest.count == 1 else { throw UsageError("\(verb) takes one name") }
        if verb == .test {
            return AdminRequest(.post, "\(one)/test", shown: arguments.view(.destinationTest))
        }
        let method: AdminRequest.Method = verb == .show ? .get : .delete
        return AdminRequest(method, one, shown: shown)
    }

    /// `pause`, `resume` or `flush`, for one destination or for all.
    static func pause(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let verb = arguments.command.name
        let isAll = arguments.flags.contains("--all")
        guard (arguments.words.count == 1) != isAll else {
            throw UsageError("\(verb) needs the name of a destination, or --all")
        }
        let name = arguments.words.first.map { AdminRequest.encoded($0) } ?? "*"
        let shown = arguments.view(.destinations)
        return AdminRequest(.post, "\(path)/\(name)/\(verb)", shown: shown)
    }

    /// `topic=night packet.logs=7 max_bytes=` becomes
    /// `{"topic":"night","packet":{"logs":"7"},"max_bytes":null}`.
    private static func patch(_ words: [String]) throws(UsageError) -> [UInt8] {
        guard !words.isEmpty else {
            throw UsageError(
                "set needs settings: KEY=VALUE, or KEY= to return to the configuration"
            )
        }
        var members: [(name: String, value: String?)] = []
        var groups: [String: [(name: String, value: String?)]] = [:]
        for word in words {
            let sides = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[0].isEmpty else {
                throw UsageError("\(word) is not a setting; write KEY=VALUE")
            }
            let value = sides[1].isEmpty ? nil : String(sides[1])
            let keys = sides[0].split(separator: ".", maxSplits: 1)
            if keys.count == 2, ["packet", "tags"].contains(keys[0]) {
                groups[String(keys[0]), default: []].append((String(keys[1]), value))
            } else {
                members.append((String(sides[0]), value))
            }
        }
        return JSONWriter { json in
            for (name, value) in members { json.member(name, value) }
            for (name, settings) in groups.sorted(by: { $0.key < $1.key }) {
                json.object(name) { json in
                    for (name, value) in settings { json.member(name, value) }
                }
            }
        }.bytes
    }
}

/// `sluice rotate` and `sluice credentials`. Other users can read arguments, so no secret is one.
enum RotateArguments {
    private static let path = "/admin/credentials"
    private static let bytesMax = 64 << 10

    static func request(_ arguments: Arguments) throws(UsageError) -> AdminRequest {
        let name = arguments.words.first ?? "default"
        let file = arguments.values["--file"]
        let fromEnvironment = arguments.flags.contains("--environment")
        guard (file != nil) != fromEnvironment else {
            throw UsageError("rotate needs --file FILE (- is stdin) or --environment")
        }
        let body: [UInt8]
        if let file {
            body = try FileContents.read(file, bytesMax: bytesMax)
        } else {
            body = try environmentBody()
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
        let verbs = ["list", "show", "verify", "forget"]
        let verb = arguments.words.first ?? "list"
        guard verbs.contains(verb) else { throw .unknown("verb", verb, among: verbs) }
        let shown = arguments.view(.credentials)
        guard verb != "list" else { return AdminRequest(.get, path, shown: shown) }
        guard arguments.words.count == 2 else {
            throw UsageError("\(verb) needs the name of a credential")
        }
        let one = "\(path)/\(AdminRequest.encoded(arguments.words[1]))"
        switch verb {
        case "verify": return AdminRequest(.post, one + "/verify", shown: arguments.view(.proofs))
        case "forget": return AdminRequest(.delete, one, shown: shown)
        default: return AdminRequest(.get, one, shown: shown)
        }
    }

    private static func environmentBody() throws(UsageError) -> [UInt8] {
        let environment = environmentVariables()
        var members: [(name: String, value: String)] = []
        let names = [
            ("AccessKeyId", "ALIBABA_CLOUD_ACCESS_KEY_ID", true),
            ("AccessKeySecret", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", true),
            ("SecurityToken", "ALIBABA_CLOUD_SECURITY_TOKEN", false),
        ]
        for (member, variable, isNeeded) in names {
            guard let value = environment[variable], !value.isEmpty else {
                if isNeeded { throw UsageError("the environment has no \(variable)") }
                continue
            }
            members.append((member, value))
        }
        return JSONWriter { json in
            for (name, value) in members { json.member(name, value) }
        }.bytes
    }
}

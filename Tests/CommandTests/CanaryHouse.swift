import Foundation
import TestSupport

/// A gateway with a secret in every place that takes one, and what it was heard to say.
final class CanaryHouse {
    let scratch = TemporaryDirectory()
    let canaries: Canaries
    let otherKey: String
    private(set) var answers = 0
    /// Whether the receiver of notices was told something, which it refuses, repeating it.
    private(set) var isHookTried = false

    private let isKept: Bool
    private let sandbox: RunningSandbox
    private let roles: RoleServer
    private let key: String
    private let token: String
    private let watcher: String
    private let fixed: (secret: String, token: String)
    private let proxy: String
    private let uri: String
    private let hook: (path: String, query: String, header: String)

    /// `isKept`: with an encryption key and a token of the operator's own; else with neither.
    init(isKept: Bool) throws {
        self.isKept = isKept
        let canaries = Canaries(in: scratch)
        self.canaries = canaries
        sandbox = try RunningSandbox()
        // The sandbox's key is of the environment.
        for secret in RunningSandbox.keys.values where secret.contains("secret") {
            _ = canaries.planted(secret)
        }
        otherKey = canaries.secret("other-key")
        key = canaries.secret("key")
        token = canaries.secret("main")
        watcher = canaries.secret("watcher")
        fixed = (canaries.secret("fixed"), canaries.secret("fixed-token"))
        proxy = canaries.secret("proxy")
        uri = canaries.secret("uri")
        hook = (
            canaries.secret("hook-path"), canaries.secret("hook-query"),
            canaries.secret("hook-header")
        )
        let members = Self.members(
            "STS.role",
            canaries.secret("role"),
            canaries.secret("role-token")
        )
        roles = try RoleServer(members: members)
        try FileManager.default.createDirectory(
            atPath: scratch.path + "/seen",
            withIntermediateDirectories: true
        )
        try writeFile(
            Self.members("STS.file", canaries.secret("file"), canaries.secret("file-token"))
        )
        for name in ["pod", "stray"] {
            scratch.file("\(name).token", canaries.secret(name))
        }
        try write(configuration(encryptionKey: key))
    }

    func end() {
        roles.stop()
    }

    private static func members(_ id: String, _ secret: String, _ token: String) -> String {
        #""AccessKeyId":"\#(id)-0123456789","AccessKeySecret":"\#(secret)","#
            + #""SecurityToken":"\#(token)","Expiration":"2099-01-01T00:00:00Z""#
    }

    private static let names = [
        "default", "fixed", "kept", "role", "refused", "web", "broken", "pushed", "pod", "stray",
        "chain",
    ]

    func configuration(encryptionKey: String) -> String {
        let stand = "127.0.0.1:\(roles.port)"
        let role = "from: assume_role, role_arn: 'acs:ram::1:role/x', source: fixed"
        let destinations = Self.names.map { name in
            """
              \(name):
                endpoint: http://localhost:\(sandbox.port)
                project: \(name == "default" ? "demo" : "\(name)-project")
                logstore: "*"
                region: sandbox
                credential: \(name)
                packet: { age: 50ms }
            """
        }
        return """
            listen: 127.0.0.1:0
            admin:
              listen: 127.0.0.1:0
              \(isKept ? "token: \(token)" : "")
              tokens: { watcher: { token: \(watcher), role: read } }
            data_dir: \(scratch.path)/data
            log: { level: debug, format: json }
            credentials:
              \(isKept ? "encryption_key: \(encryptionKey)" : "")
              default: { from: environment }
              fixed: { from: static, access_key_id: STS.fixed-id, access_key_secret: \(fixed.secret), security_token: \(fixed.token) }
              kept: { from: file, path: \(scratch.path)/credential.json }
              role: { \(role), sts_endpoint: "http://\(stand)" }
              refused: { \(role), sts_endpoint: "http://\(stand)", external_id: refuse }
              web: { from: uri, uri: "http://\(stand)/web?secret=\(uri)" }
              broken: { from: uri, uri: "http://\(stand)/refuse?secret=\(uri)" }
              pushed: { from: admin }
              pod: { \(pod("pod")), sts_endpoint: "http://\(stand)" }
              stray: { \(pod("stray")), sts_endpoint: "http://\(stand)", session_name: refuse }
              chain: { from: chain }
            webhook:
              url: "http://\(stand)/\(hook.path)?refuse=\(hook.query)"
              authorization: Bearer \(hook.header)
            destinations:
            \(destinations.joined(separator: "\n"))
              proxied:
                endpoint: http://localhost:\(sandbox.port)
                project: proxied-project
                logstore: "*"
                region: sandbox
                proxy: "http://user:\(proxy)@127.0.0.1:1"
            """
    }

    private func pod(_ name: String) -> String {
        "from: oidc_role, role_arn: 'acs:ram::1:role/x', oidc_provider_arn: 'acs:ram::1:oidc-provider/x', "
            + "oidc_token_file: \(scratch.path)/\(name).token"
    }

    func write(_ configuration: String) throws {
        scratch.replace("sluice.yaml", configuration + "\n")
    }

    private func writeFile(_ members: String) throws {
        scratch.replace("credential.json", "{\(members)}")
    }

    // MARK: - What is done

    struct Running {
        let program: Program
        let listeners: Listeners
    }

    func started() throws -> Running {
        let (program, listeners) = try Program.serving("\(scratch.path)/sluice.yaml")
        return Running(program: program, listeners: listeners)
    }

    func end(_ running: Running) throws {
        let outcome = running.program.stopped()
        isHookTried = isHookTried || outcome.errors.contains("webhook event not delivered")
        try see(outcome.output + outcome.errors)
    }

    func post(_ running: Running) -> Int? {
        let projects = Self.names.dropFirst().map { "\($0)-project" } + ["proxied-project", "demo"]
        let statuses = projects.map { project in
            (try? TestConnection(port: running.listeners.devices))?.request(
                "POST",
                "/logs/canary",
                fields: ["x-log-project: \(project)"],
                body: #"{"a":"1"}"#
            )?.status
        }
        return statuses.first { $0 != 200 } ?? 200
    }

    /// Every answer that there is, for scripts and for people.
    func lookEverywhere(_ running: Running) {
        let paths =
            [
                "/healthz", "/readyz", "/metrics", "/admin/status", "/admin/queue", "/admin/ledger",
                "/admin/routes", "/admin/audit", "/admin/drain", "/admin/openapi.json",
                "/admin/credentials",
                "/admin/destinations", "/admin/destinations/proxied", "/admin/dead-letters",
            ] + Self.names.flatMap { ["/admin/credentials/\($0)", "/admin/destinations/\($0)"] }
        for path in paths {
            ask(running, "GET", path)
        }
        for name in Self.names { ask(running, "POST", "/admin/credentials/\(name)/verify") }
        ask(running, "POST", "/admin/routes/test", #"{"tag":"a"}"#)
    }

    func tryTokens(_ running: Running) {
        for wrong in ["Bearer \(canaries.secret("wrong"))", "Basic \(canaries.secret("basic"))"] {
            ask(running, "GET", "/admin/status", authorization: wrong)
        }
        ask(running, "GET", "/admin/status", authorization: "Bearer \(watcher)")
        ask(running, "POST", "/admin/drain", authorization: "Bearer \(watcher)")
    }

    func rotate(_ running: Running) {
        let path = "/admin/credentials/pushed"
        func body(_ id: String, _ secret: String, _ more: String = "") -> String {
            #"{"AccessKeyId":"\#(id)","AccessKeySecret":"\#(secret)"\#(more)}"#
        }
        func secret(_ place: String) -> String { canaries.secret(place) }
        // Taken, refused, unproved, for later.
        ask(running, "PUT", path, body("test-id", "test-secret"))
        ask(running, "PUT", path, body("test-id", secret("refused")))
        ask(
            running,
            "PUT",
            path + "?force=true",
            body("STS.forced", secret("forced"), #","SecurityToken":"\#(secret("forced-token"))""#)
        )
        ask(
            running,
            "PUT",
            path + "?force=true",
            body(
                "STS.later",
                secret("later"),
                #","SecurityToken":"\#(secret("later-token"))","Activation":"2098-01-01T00:00:00Z""#
            )
        )
        // Mistakes.
        ask(
            running,
            "PUT",
            path,
            body("test-id", secret("unknown"), #","Colour":"\#(secret("colour"))""#)
        )
        ask(running, "PUT", path, #"{"AccessKeySecret":"\#(secret("half"))"}"#)
        ask(running, "PUT", path, #"{"AccessKeyId":"test-id","AccessKeySecret":"\#(secret("cut"))"#)
        ask(running, "PUT", path, body("test-id", secret("spaced") + " \\u0007"))
        ask(
            running,
            "PUT",
            path,
            body("test-id", secret("old"), #","Expiration":"2020-01-01T00:00:00Z""#)
        )
        ask(running, "PUT", path, body("test-id", secret("time"), #","Expiration":"soon""#))
        ask(running, "PUT", "/admin/credentials/nobody", body("test-id", secret("nobody")))
        ask(running, "PUT", path + "?colour=red", body("test-id", secret("query")))
        ask(
            running,
            "PUT",
            "/admin/credentials/default?force=true",
            body("swapped", secret("swapped"))
        )
        ask(running, "DELETE", "/admin/credentials/default")
    }

    func steer(_ running: Running) {
        let proxied = "/admin/destinations/proxied"
        ask(
            running,
            "PATCH",
            proxied,
            #"{"proxy":"http://me:\#(canaries.secret("patch"))@127.0.0.1:1"}"#
        )
        ask(running, "PATCH", proxied, #"{"proxy":"wrong://me:\#(canaries.secret("scheme"))@x"}"#)
        ask(running, "PATCH", proxied, #"{"topic":"night","concurrency":"many"}"#)
        ask(running, "PATCH", proxied, #"{"topic":"night"}"#)
        ask(running, "POST", proxied + "/pause")
        ask(running, "POST", proxied + "/resume")
        ask(running, "DELETE", proxied)
        ask(running, "POST", "/admin/drain")
        ask(running, "DELETE", "/admin/drain")
    }

    /// The command, which reads secrets too.
    func command(_ running: Running) throws {
        let file = scratch.file(
            "rotation.json",
            #"{"AccessKeyId":"test-id","AccessKeySecret":"\#(canaries.secret("command"))"}"#
        )
        let config = ["--config", "\(scratch.path)/sluice.yaml"]
        let admin = config + ["--admin-listen", "127.0.0.1:\(running.listeners.admin)"]
        for words in [
            ["rotate", "pushed", "--file", file] + admin, ["status"] + admin,
            ["credentials"] + admin, ["credentials", "verify", "fixed"] + admin,
            ["destinations", "show", "proxied"] + admin, ["check"] + config,
        ] {
            let outcome = try Program(words, environment: RunningSandbox.keys).finished()
            try see(outcome.output + outcome.errors)
        }
    }

    /// Files that went wrong, with secrets in them, each read again while the gateway runs.
    func reloadMistakes(_ running: Running) throws {
        let right = configuration(encryptionKey: key)
        let mistakes: [(String, String)] = [
            (
                "access_key_secret: \(fixed.secret)",
                "access_key_secret: [\(canaries.secret("list"))]"
            ),
            ("access_key_secret: \(fixed.secret)", "access_key_secrte: \(canaries.secret("typo"))"),
            ("user:\(proxy)@127.0.0.1:1", "user:\(canaries.secret("port"))@127.0.0.1:none"),
            ("token: \(watcher)", "token: \"\(canaries.secret("space")) x\""),
            ("secret=\(uri)\"", "secret=\(canaries.secret("unclosed"))"),
            ("encryption_key: \(key)", "encryption_key: {a: \(canaries.secret("map"))}"),
        ]
        for (right_, wrong) in mistakes where right.contains(right_) {
            try write(right.replacing(right_, with: wrong))
            running.program.signal(SIGHUP)
            let line = running.program.errors.next(containing: ["keeps the present configuration"])
            guard line != nil else { throw ProgramDidNotStart(complaints: [wrong]) }
        }
        try writeFile(#""AccessKeyId":"STS.file","AccessKeySecret":"\#(canaries.secret("broken"))"#)
        scratch.replace(
            "credential.json",
            #"{"AccessKeySecret":"\#(canaries.secret("half-file"))""#
        )
        try write(right)
        running.program.signal(SIGHUP)
        _ = running.program.errors.next(containing: ["configuration reloaded"])
    }

    private func ask(
        _ running: Running,
        _ method: String,
        _ path: String,
        _ body: String = "",
        authorization: String? = nil
    ) {
        let token = authorization ?? "Bearer \(mainToken)"
        let answer = (try? TestConnection(port: running.listeners.admin))?.request(
            method,
            path,
            fields: [
                "Authorization: \(token)", "Content-Type: application/json",
            ],
            body: body
        )
        guard let answer else { return }
        answers += 1
        try? see("\(method) \(path)\n\(answer.fields)\n\(answer.text)\n")
    }

    /// The operator's, or the one that the gateway made, which may be in its own file and nowhere
    /// else.
    private var mainToken: String {
        guard !isKept else { return token }
        let file = "\(scratch.path)/data/admin-token"
        let made = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return made.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    // MARK: - What was seen

    private var pages = 0

    private func see(_ text: String) throws {
        pages += 1
        scratch.file("seen/\(pages)", text)
    }

    func found() throws -> String {
        if !isKept { _ = canaries.planted(mainToken) }
        return try canaries.found(in: ["data", "seen"], butNotIn: "admin-token")
    }
}

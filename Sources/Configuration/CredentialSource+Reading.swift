import Credentials
import Crypto
import SLS

extension CredentialSource {
    private static let kinds = [
        "environment", "static", "file", "admin", "assume_role", "oidc_role", "ecs_role", "uri",
        "chain",
    ]

    /// `caller` becomes the other credential that it stands on, also where the rest is wrong.
    static func read(_ given: consuming Section, caller: inout String?) -> CredentialSource? {
        var section = given
        let kind = Kind<String>(wants: kinds.joined(separator: ", ")) { text throws(Mismatch) in
            guard kinds.contains(text) else {
                throw Mismatch("\(quoted(text)) is not one of \(kinds.joined(separator: ", "))")
            }
            return text
        }
        let isGiven = section.has("from")
        let from = section.value("from", kind)
        let source: CredentialSource?
        switch from {
        case "environment":
            let report = section.report
            let key = section.keyPath("from")
            source =
                report.inputs.isSandboxed
                ? nil : environment(report, at: section.place(of: "from"), key: key)
        case "static": source = readStatic(&section)
        case "file": source = .file(readFile(&section))
        case "admin": source = .admin
        case "assume_role": source = readAssumeRole(&section)
        case "oidc_role": source = .oidcRole(readOIDCRole(&section))
        case "ecs_role": source = .ecsRole(readECSRole(&section))
        case "uri": source = .uri(readURI(&section))
        case "chain": source = .chain
        default:
            if !isGiven {
                section.problem(
                    "from",
                    "is missing; write from: environment, or one of \(kinds.dropFirst().joined(separator: ", "))"
                )
                return nil
            }
            // Of an unknown kind no key is known either.
            return nil
        }
        caller = source?.callerName
        for problem in source?.problems ?? []
        where !section.report.hasProblem(with: section.keyPath(problem.key)) {
            section.problem(problem.key, problem.what)
        }
        section.refuseOthers()
        return source
    }

    private static func readStatic(_ section: inout Section) -> CredentialSource? {
        let id = section.value("access_key_id", .text(upTo: 256))
        let secret = section.value("access_key_secret", .text(upTo: 1024))
        let token = section.value("security_token", .text(upTo: 16 << 10))
        for (key, value) in [("access_key_id", id), ("access_key_secret", secret)]
        where value?.isEmpty ?? !section.has(key) {
            section.problem(key, "is missing or empty; a static credential needs it")
        }
        guard let id, let secret else { return nil }
        return .fixed(
            Credential(
                accessKeyID: id,
                secret: Secret(secret),
                securityToken: token.flatMap { $0.isEmpty ? nil : Secret($0) }
            )
        )
    }

    private static func readFile(_ section: inout Section) -> FileSource {
        FileSource(
            path: section.value("path", .path),
            profile: section.value("profile", .text(upTo: 128))
        )
    }

    /// What an environment holds that has no `credentials` for it.
    static func undescribed(_ report: ProblemReport) -> CredentialSource? {
        let inputs = report.inputs
        let elsewhere = [
            "ALIBABA_CLOUD_OIDC_TOKEN_FILE", "ALIBABA_CLOUD_ECS_METADATA",
            "ALIBABA_CLOUD_CREDENTIALS_URI", "ALIBABA_CLOUD_CREDENTIALS_FILE",
        ]
        if inputs.variable("ALIBABA_CLOUD_ACCESS_KEY_ID") == nil,
            elsewhere.contains(where: { inputs.variable($0) != nil })
        {
            return .chain
        }
        return environment(report, at: .whole, key: "")
    }

    private static func environment(
        _ report: ProblemReport,
        at place: ConfigurationProblem.Place,
        key: String
    ) -> CredentialSource? {
        let names = ["ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"]
        let missing = names.filter { report.inputs.variable($0) == nil }
        guard !missing.isEmpty else { return .environment }
        report.add(
            place,
            key: key,
            "the environment has no \(missing.joined(separator: " and no ")); set "
                + "\(missing.count == 1 ? "it" : "them"), describe a credential with from: static, "
                + "or try without keys: sluice serve --sandbox"
        )
        return nil
    }
}

import SLS

extension GatewayConfiguration {
    /// Reads the credentials and sees to it that each one in use exists.
    static func readCredentials(
        _ section: consuming Section,
        usedBy destinations: [PlacedDestination]
    ) -> [String: Credential] {
        let report = section.report
        var credentials: [String: Credential] = [:]
        let names = section.names
        for name in names {
            credentials[name] = readCredential(section.section(name))
        }
        section.refuseOthers()
        guard !report.inputs.isSandboxed else { return credentials }
        for (destination, place) in destinations where !names.contains(destination.credential) {
            guard destination.credential == "default" else {
                let hint = nearMiss(destination.credential, among: names).map {
                    "; did you mean \($0)?"
                }
                report.add(
                    place,
                    key: "destinations.\(destination.name).credential",
                    "there is no credential named \(destination.credential)\(hint ?? "")"
                )
                continue
            }
            // What nobody describes comes from where Alibaba's own tools look.
            if credentials["default"] == nil {
                credentials["default"] = environmentCredential(report, at: .whole)
            }
        }
        return credentials
    }

    private static func readCredential(_ section: consuming Section) -> Credential? {
        let later = ["file", "admin", "assume_role", "oidc_role", "ecs_role", "uri"]
        let kind = Kind<String>(wants: "environment or static") { text throws(Mismatch) in
            guard text != "environment", text != "static" else { return text }
            guard !later.contains(text) else {
                throw Mismatch("\(text) is not in this version; use environment or static")
            }
            throw Mismatch("\(quoted(text)) is not one of environment, static")
        }
        let isGiven = section.has("from")
        let from = section.value("from", kind)
        switch from {
        case "environment":
            let report = section.report
            let place = section.place(of: "from")
            let key = section.keyPath("from")
            section.refuseOthers()
            return report.inputs.isSandboxed
                ? nil : environmentCredential(report, at: place, key: key)
        case "static":
            return readStatic(section)
        default:
            if !isGiven {
                section.problem("from", "is missing; write from: environment or from: static")
            }
            return nil
        }
    }

    private static func readStatic(_ section: consuming Section) -> Credential? {
        let id = section.value("access_key_id", .text(upTo: 256))
        let secret = section.value("access_key_secret", .text(upTo: 1024))
        let token = section.value("security_token", .text(upTo: 16 << 10))
        for (key, value) in [("access_key_id", id), ("access_key_secret", secret)]
        where value?.isEmpty ?? !section.has(key) {
            section.problem(key, "is missing or empty; a static credential needs it")
        }
        section.refuseOthers()
        guard let id, let secret else { return nil }
        return Credential(
            accessKeyID: id,
            secret: Secret(secret),
            securityToken: token.flatMap { $0.isEmpty ? nil : Secret($0) }
        )
    }

    private static func environmentCredential(
        _ report: ProblemReport,
        at place: ConfigurationProblem.Place,
        key: String = ""
    ) -> Credential? {
        let inputs = report.inputs
        let names = ["ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"]
        let missing = names.filter { inputs.variable($0) == nil }
        guard missing.isEmpty, let id = inputs.variable(names[0]),
            let secret = inputs.variable(names[1])
        else {
            report.add(
                place,
                key: key,
                "the environment has no \(missing.joined(separator: " and no ")); set "
                    + "\(missing.count == 1 ? "it" : "them"), describe a credential with from: static, "
                    + "or try without keys: sluice serve --sandbox"
            )
            return nil
        }
        return Credential(
            accessKeyID: id,
            secret: Secret(secret),
            securityToken: inputs.variable("ALIBABA_CLOUD_SECURITY_TOKEN").map { Secret($0) }
        )
    }
}

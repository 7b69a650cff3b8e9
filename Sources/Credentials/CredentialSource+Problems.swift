import SLS

/// An invalid setting: its key in the configuration and the problem.
package struct SettingProblem: Sendable, Equatable {
    package let key: String
    package let what: String
}

extension CredentialSource {
    /// All problems that show without contacting anything.
    package var problems: [SettingProblem] {
        switch self {
        case .assumeRole(let role):
            Self.roleProblems(role.roleARN, role.sessionName, role.seconds, role.policy)
                + Self.externalIDProblems(role.externalID) + role.access.problems
        case .oidcRole(let role):
            Self.roleProblems(role.roleARN, role.sessionName, role.seconds, role.policy)
                + role.access.problems
        case .ecsRole(let role):
            if let name = role.roleName, !ECSRole.isRoleName(name) {
                [SettingProblem(key: "role_name", what: "is not the name of a RAM role")]
            } else {
                []
            }
        case .uri(let source):
            if let uri = source.uri, SourceVisit.shownPlace(uri) == nil {
                [SettingProblem(key: "uri", what: "is neither http:// nor https:// in plain ASCII")]
            } else {
                []
            }
        default: []
        }
    }

    private static func roleProblems(
        _ roleARN: String?,
        _ sessionName: String?,
        _ seconds: Int,
        _ policy: String?
    ) -> [SettingProblem] {
        var problems: [SettingProblem] = []
        if let roleARN, !isRoleARN(roleARN) {
            problems.append(
                .init(key: "role_arn", what: "is not like acs:ram::1234567890123456:role/NAME")
            )
        }
        if let sessionName, !isSessionName(sessionName) {
            problems.append(
                .init(key: "session_name", what: "is not 2 to 64 letters, digits and . @ - _")
            )
        }
        if !(900...43_200).contains(seconds) {
            problems.append(.init(key: "duration", what: "is not from 15m to 12h"))
        }
        if let policy, !(1...2048).contains(policy.utf8.count) || !policy.contains("{") {
            problems.append(.init(key: "policy", what: "is not JSON of up to 2048 characters"))
        }
        return problems
    }

    private static func externalIDProblems(_ id: String?) -> [SettingProblem] {
        guard let id, !(2...1224).contains(id.utf8.count) else { return [] }
        return [.init(key: "external_id", what: "is not 2 to 1224 characters long")]
    }

    private static func isRoleARN(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 5 && parts[0] == "acs" && parts[1] == "ram" && parts[2].isEmpty
            && !parts[3].isEmpty && parts[3].utf8.allSatisfy { (0x30...0x39).contains($0) }
            && parts[4].hasPrefix("role/") && parts[4].utf8.count > 5
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    private static func isSessionName(_ text: String) -> Bool {
        (2...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                        || ".@-_".unicodeScalars.contains(scalar))
            }
    }
}

extension STSAccess {
    var problems: [SettingProblem] {
        // The environment may name a region, so a missing region is reported only when STS is
        // called.
        if isVPC == true, region == nil, endpoint == nil { return [] }
        do throws(SourceProblem) {
            _ = try url(Surroundings(environment: [:]))
            return []
        } catch {
            return [.init(key: endpoint == nil ? "sts_region" : "sts_endpoint", what: error.what)]
        }
    }
}

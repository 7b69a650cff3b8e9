import Crypto
import HTTPClient
package import SLS
package import System

/// One attempt to get a credential from a source.
package struct SourceVisit: Sendable {
    package let surroundings: Surroundings
    let web: WebClient
    /// The other credentials of the table.
    let lookup: @Sendable (String) -> Credential?

    package init(
        _ surroundings: Surroundings,
        interruption: Interruption,
        lookup: @escaping @Sendable (String) -> Credential? = { _ in nil }
    ) {
        self.surroundings = surroundings
        web = WebClient(interruption: interruption, addresses: surroundings.addresses)
        self.lookup = lookup
    }

    var now: WallTime { surroundings.clock.now() }
}

extension SourceVisit {
    /// Asks the source, waits for it and checks the credential: the result can be used now.
    package func fetch(_ source: CredentialSource) throws(SourceProblem) -> SuppliedCredential {
        let supplied = try ask(source)
        if let problem = supplied.credential.problem {
            throw SourceProblem(
                .permanent,
                "\(supplied.origin) gives a credential that cannot be sent: \(problem)",
                remedy: "enter it again, complete and on one line"
            )
        }
        if let end = supplied.usableUntil, end <= now {
            let age = spokenDuration(now - end)
            throw SourceProblem(
                .temporary,
                "\(supplied.origin) gives a credential that expired \(age) ago",
                remedy: "renew it there, and check this host's clock"
            )
        }
        return supplied
    }

    private func ask(_ source: CredentialSource) throws(SourceProblem) -> SuppliedCredential {
        switch source {
        case .environment: try readEnvironment()
        case .fixed(let credential):
            SuppliedCredential(credential, origin: "the configuration", obtainedAt: now)
        case .named(let name): try readNamed(name)
        case .file(let file): try read(file)
        case .admin:
            throw SourceProblem(
                .temporary,
                "no credential was pushed yet",
                remedy: "push one with sluice rotate, or PUT /admin/credentials"
            )
        case .assumeRole(let role): try assume(role)
        case .oidcRole(let role): try assume(role)
        case .ecsRole(let role): try read(role)
        case .uri(let place): try read(place)
        case .chain: try askChain().supplied
        }
    }

    func readEnvironment() throws(SourceProblem) -> SuppliedCredential {
        let names = ["ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"]
        guard let id = surroundings.variable(names[0]),
            let secret = surroundings.variable(names[1])
        else {
            let missing = names.filter { surroundings.variable($0) == nil }
            throw SourceProblem(
                .permanent,
                "the environment has no \(missing.joined(separator: " and no "))",
                remedy: "set \(missing.count == 1 ? "it" : "them") and start again"
            )
        }
        let token = surroundings.variable("ALIBABA_CLOUD_SECURITY_TOKEN")
        return SuppliedCredential(
            Credential(
                accessKeyID: id,
                secret: Secret(secret),
                securityToken: token.map { Secret($0) }
            ),
            origin: "the environment",
            obtainedAt: now
        )
    }

    private func readNamed(_ name: String) throws(SourceProblem) -> SuppliedCredential {
        guard let credential = lookup(name) else {
            throw SourceProblem(
                .temporary,
                "the credential '\(name)', which this one depends on, is missing",
                remedy: "check the status of that credential"
            )
        }
        return SuppliedCredential(credential, origin: "the credential '\(name)'", obtainedAt: now)
    }
}

/// "2 h 5 min", "40 s".
package func spokenDuration(_ duration: Duration) -> String {
    let seconds = duration.components.seconds
    return switch seconds {
    case ..<60: "\(max(0, seconds)) s"
    case ..<3600: "\(seconds / 60) min"
    case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
    }
}

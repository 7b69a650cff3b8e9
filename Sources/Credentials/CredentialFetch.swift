import Crypto
import HTTPClient
package import SLS
package import System

/// One attempt to get a credential from a source.
package struct CredentialFetch: Sendable {
    package let context: SourceContext
    let web: WebClient
    /// The other credentials of the table.
    let lookup: @Sendable (String) -> Credential?

    package init(
        _ context: SourceContext,
        interruption: Interruption,
        lookup: @escaping @Sendable (String) -> Credential? = { _ in nil }
    ) {
        self.context = context
        web = WebClient(interruption: interruption, addresses: context.addresses)
        self.lookup = lookup
    }

    var now: WallTime { context.clock.now() }

    /// Asks the source, waits for it and checks the credential: the result can be used now.
    package func credential(
        from source: CredentialSource
    ) throws(SourceProblem) -> SuppliedCredential {
        let supplied = try ask(source)
        if let problem = supplied.credential.problem {
            throw .permanent(
                "\(supplied.origin) gives a credential that cannot be sent: \(problem)",
                remedy: "enter it again, complete and on one line"
            )
        }
        if let end = supplied.usableUntil, end <= now {
            let age = spokenDuration(now - end)
            throw .temporary(
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
            throw .temporary(
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
        guard let id = context.variable(names[0]),
            let secret = context.variable(names[1])
        else {
            let missing = names.filter { context.variable($0) == nil }
            throw .permanent(
                "the environment has no \(missing.joined(separator: " and no "))",
                remedy: "set \(missing.count == 1 ? "it" : "them") and start again"
            )
        }
        let token = context.variable("ALIBABA_CLOUD_SECURITY_TOKEN")
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
            throw .temporary(
                "the credential '\(name)', which this one depends on, is missing",
                remedy: "check the status of that credential"
            )
        }
        return SuppliedCredential(credential, origin: "the credential '\(name)'", obtainedAt: now)
    }

    /// Tries Alibaba's default order; returns the first credential and the link that gave it.
    func askChain() throws(SourceProblem) -> (supplied: SuppliedCredential, link: CredentialSource)
    {
        var problems: [SourceProblem] = []
        for link in chainLinks {
            do throws(SourceProblem) {
                return (try credential(from: link), link)
            } catch {
                problems.append(error)
            }
        }
        let isTemporary = problems.contains { $0.kind == .temporary }
        let reasons = problems.map { problem in
            "\(problem.what)\(problem.words.map { " (\($0))" } ?? "")"
        }
        throw SourceProblem(
            isTemporary ? .temporary : .permanent,
            "no source of the default chain has a credential: \(reasons.joined(separator: "; "))",
            remedy:
                "set ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET, or name one source with from"
        )
    }

    /// The links that the environment does not rule out.
    private var chainLinks: [CredentialSource] {
        var links: [CredentialSource] = [.environment]
        let oidc = ["ROLE_ARN", "OIDC_PROVIDER_ARN", "OIDC_TOKEN_FILE"]
        if oidc.allSatisfy({ context.variable("ALIBABA_CLOUD_\($0)") != nil }) {
            links.append(.oidcRole(OIDCRole()))
        }
        links += chainFiles.map(CredentialSource.file)
        if !context.isSet("ALIBABA_CLOUD_ECS_METADATA_DISABLED") {
            links.append(.ecsRole(ECSRole()))
        }
        if context.variable("ALIBABA_CLOUD_CREDENTIALS_URI") != nil {
            links.append(.uri(URISource()))
        }
        return links
    }

    private var chainFiles: [FileSource] {
        let ini = FileSource(path: path(of: FileSource()))
        guard !context.isSet("ALIBABA_CLOUD_CLI_PROFILE_DISABLED") else { return [ini] }
        let cli =
            context.variable("ALIBABA_CLOUD_CONFIG_FILE")
            ?? context.homePath(Self.cliPath)
        return [FileSource(path: cli), ini]
    }

    /// Files whose change causes another call.
    func watchedFiles(of source: CredentialSource) -> [String] {
        switch source {
        case .file(let file): [path(of: file)]
        case .chain: chainFiles.compactMap(\.path)
        default: []
        }
    }

    func read(_ source: URISource) throws(SourceProblem) -> SuppliedCredential {
        let variable = context.variable("ALIBABA_CLOUD_CREDENTIALS_URI")
        guard let uri = source.uri ?? variable.map({ Secret($0) }) else {
            throw .permanent(
                "there is no URI for the credential",
                remedy: "set uri, or ALIBABA_CLOUD_CREDENTIALS_URI"
            )
        }
        guard let place = Self.shownPlace(uri) else {
            throw .permanent(
                "the credential's URI cannot be used",
                remedy: "write it with http:// or https:// and in plain ASCII"
            )
        }
        var request = WebRequest(url: uri.revealed, limits: source.limits)
        request.resolvers = source.resolvers
        let answer = try answer(to: request, from: place)
        guard answer.status == 200 else {
            throw SourceProblem(
                (400..<500).contains(answer.status) && ![408, 429].contains(answer.status)
                    ? .permanent : .temporary,
                "\(place) gives no credential",
                remedy: "check uri, and the service behind it",
                words: ServerWords(status: answer.status)
            )
        }
        let document = CredentialDocument(json: answer.body.bytes)
        if let code = document?.code, code != "Success" {
            throw .temporary(
                "\(place) gives no credential",
                remedy: "check the service behind uri",
                words: ServerWords(status: answer.status, code: code)
            )
        }
        return try supplied(document, answer, origin: place, place: place)
    }

    /// Shows scheme, host and port only: path, query and user information may contain a key.
    static func shownPlace(_ uri: Secret) -> String? {
        let text = uri.revealed
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) })
        else { return nil }
        let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@").last ?? ""
        return host.isEmpty ? nil : "\(scheme)\(host)"
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

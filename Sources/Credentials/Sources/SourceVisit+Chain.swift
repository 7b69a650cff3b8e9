import SLS
import System

extension SourceVisit {
    /// Tries Alibaba's default order; returns the first credential and the link that gave it.
    func askChain() throws(SourceProblem) -> (supplied: SuppliedCredential, link: CredentialSource)
    {
        var problems: [SourceProblem] = []
        for link in chainLinks {
            do throws(SourceProblem) {
                return (try fetch(link), link)
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
        if oidc.allSatisfy({ surroundings.variable("ALIBABA_CLOUD_\($0)") != nil }) {
            links.append(.oidcRole(OIDCRole()))
        }
        links += chainFiles.map(CredentialSource.file)
        if !surroundings.isSet("ALIBABA_CLOUD_ECS_METADATA_DISABLED") {
            links.append(.ecsRole(ECSRole()))
        }
        if surroundings.variable("ALIBABA_CLOUD_CREDENTIALS_URI") != nil {
            links.append(.uri(URISource()))
        }
        return links
    }

    private var chainFiles: [FileSource] {
        let ini = FileSource(path: path(of: FileSource()))
        guard !surroundings.isSet("ALIBABA_CLOUD_CLI_PROFILE_DISABLED") else { return [ini] }
        let cli =
            surroundings.variable("ALIBABA_CLOUD_CONFIG_FILE")
            ?? surroundings.homePath(Self.cliPath)
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
}

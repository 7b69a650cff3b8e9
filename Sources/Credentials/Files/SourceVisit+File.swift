import Crypto
import SLS
import System

extension SourceVisit {
    static let iniPath = ".alibabacloud/credentials"
    static let cliPath = ".aliyun/config.json"

    func path(of file: FileSource) -> String {
        file.path ?? surroundings.variable("ALIBABA_CLOUD_CREDENTIALS_FILE")
            ?? surroundings.homePath(Self.iniPath)
    }

    func read(_ file: FileSource) throws(SourceProblem) -> SuppliedCredential {
        let path = path(of: file)
        let content = try fileContent(path)
        let first = content.bytes.first { $0 > 0x20 }
        guard first == UInt8(ascii: "{") else {
            guard let profiles = IniProfiles(content.bytes), first != nil else {
                throw unreadable(path, "neither JSON nor an ini file")
            }
            let name = file.profile ?? surroundings.variable("ALIBABA_CLOUD_PROFILE") ?? "default"
            return try use(profiles.sections, name, path)
        }
        if let document = CredentialDocument(json: content.bytes), document.credential != nil {
            return try supplied(document, path)
        }
        guard let profiles = CLIProfiles(content.bytes) else {
            throw unreadable(path, "not whole JSON; the credential before it stays in use")
        }
        guard !profiles.profiles.isEmpty else {
            let missing = CredentialDocument(json: content.bytes)?.missing ?? ["AccessKeyId"]
            throw unreadable(path, "without \(missing.joined(separator: " and "))")
        }
        let name =
            file.profile ?? surroundings.variable("ALIBABA_CLOUD_PROFILE") ?? profiles.current
            ?? "default"
        return try use(profiles.profiles, name, path)
    }

    private func supplied(
        _ document: CredentialDocument,
        _ path: String
    ) throws(SourceProblem) -> SuppliedCredential {
        guard let credential = document.credential else { throw unreadable(path, "incomplete") }
        let expiration = document.expiration.map { WallTime(iso8601: $0) }
        if case .some(.none) = expiration {
            throw unreadable(path, "with an Expiration that is not like 2025-01-14T08:30:00Z")
        }
        return SuppliedCredential(
            credential,
            expiration: expiration ?? nil,
            origin: "the file \(path)",
            obtainedAt: now
        )
    }

    private func use(
        _ sections: [String: [String: Secret]],
        _ name: String,
        _ path: String
    ) throws(SourceProblem) -> SuppliedCredential {
        let source = try source(sections, name, path, depth: 0)
        guard case .fixed(let credential) = source else { return try fetch(source) }
        return SuppliedCredential(
            credential,
            origin: "the profile '\(name)' of \(path)",
            obtainedAt: now
        )
    }

    private func source(
        _ sections: [String: [String: Secret]],
        _ name: String,
        _ path: String,
        depth: Int
    ) throws(SourceProblem) -> CredentialSource {
        guard depth < 8 else {
            throw SourceProblem(
                .permanent,
                "the profiles of \(path) refer to each other in a cycle",
                remedy: "correct their source_profile"
            )
        }
        guard let settings = sections[name] else {
            throw SourceProblem(
                .temporary,
                "the file \(path) has no profile '\(name)'",
                remedy: "correct profile, or ALIBABA_CLOUD_PROFILE"
            )
        }
        let profile = Profile(place: "the profile '\(name)' of \(path)", settings: settings)
        return try profile.source { name throws(SourceProblem) in
            try source(sections, name, path, depth: depth + 1)
        }
    }

    private func unreadable(_ path: String, _ what: String) -> SourceProblem {
        SourceProblem(
            .temporary,
            "the file \(path) is \(what)",
            remedy: "write the whole credential to another file and rename it to this one"
        )
    }
}

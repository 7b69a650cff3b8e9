import Crypto
import Glibc
import SLS
import System

extension CredentialFetch {
    static let iniPath = ".alibabacloud/credentials"
    static let cliPath = ".aliyun/config.json"

    func path(of file: FileSource) -> String {
        file.path ?? context.variable("ALIBABA_CLOUD_CREDENTIALS_FILE")
            ?? context.homePath(Self.iniPath)
    }

    func read(_ file: FileSource) throws(SourceProblem) -> SuppliedCredential {
        let path = path(of: file)
        let content = try fileContent(path)
        let first = content.bytes.first { $0 > 0x20 }
        guard first == UInt8(ascii: "{") else {
            guard let profiles = IniProfiles(content.bytes), first != nil else {
                throw unreadable(path, "neither JSON nor an ini file")
            }
            let name = file.profile ?? context.variable("ALIBABA_CLOUD_PROFILE") ?? "default"
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
            file.profile ?? context.variable("ALIBABA_CLOUD_PROFILE") ?? profiles.current
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
        guard case .fixed(let credential) = source else { return try credential(from: source) }
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
            throw .permanent(
                "the profiles of \(path) refer to each other in a cycle",
                remedy: "correct their source_profile"
            )
        }
        guard let settings = sections[name] else {
            throw .temporary(
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
        .temporary(
            "the file \(path) is \(what)",
            remedy: "write the whole credential to another file and rename it to this one"
        )
    }
}

extension CredentialFetch {
    /// Reads the whole content of a small file.
    func fileContent(_ path: String) throws(SourceProblem) -> WipedBytes {
        let content = WipedBytes(countMax: 64 << 10)
        var isFile = true
        reading: do throws(SystemError) {
            let file = OwnedDescriptor(
                // O_NONBLOCK: a pipe without a writer must not block.
                taking: try system("open") { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
            )
            var facts = stat()
            _ = try system("fstat") { fstat(file.number, &facts) }
            // A directory passes here, because read() then reports a clear error.
            isFile = [S_IFREG, S_IFDIR].contains(facts.st_mode & S_IFMT)
            guard isFile else { break reading }
            var chunk = [UInt8](repeating: 0, count: 16 << 10)
            defer { wipe(&chunk) }
            while true {
                let count = try system("read") { Glibc.read(file.number, &chunk, chunk.count) }
                if count == 0 { return content }
                guard chunk.withUnsafeBytes({ content.append(.init(rebasing: $0[..<count])) })
                else {
                    break
                }
            }
        } catch {
            throw .temporary(
                "the file \(path) cannot be read: \(String(cString: strerror(error.code)))",
                remedy: "check that it exists and that the gateway may read it"
            )
        }
        throw .permanent(
            "the file \(path) is \(isFile ? "larger than 64 KiB" : "not a regular file")",
            remedy: "name a file that holds a credential"
        )
    }
}

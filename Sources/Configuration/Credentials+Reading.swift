import Credentials
import Crypto
import SLS

extension GatewayConfiguration {
    /// What is no credential's name.
    private static let encryptionKey = "encryption_key"

    /// Reads the credentials and sees to it that each one in use exists.
    static func readCredentials(
        _ section: consuming Section,
        usedBy destinations: [DescribedDestination]
    ) -> (sources: [String: CredentialSource], encryptionKey: Secret?) {
        let report = section.report
        let key = readEncryptionKey(&section)
        var credentials: [String: CredentialSource] = [:]
        let names = section.names.filter { $0 != encryptionKey }
        // Also those of credentials that are wrong otherwise.
        var callers: [String: String] = [:]
        for name in names {
            credentials[name] = CredentialSource.read(
                section.section(name),
                caller: &callers[name]
            )
        }
        for name in names {
            guard let caller = callers[name] else { continue }
            if !names.contains(caller) || caller == name {
                section.problem(
                    name,
                    "its source \(caller) \(caller == name ? "is itself" : "is no credential here")"
                )
            } else if let circle = circle(from: name, callers) {
                section.problem(
                    name,
                    "it stands on itself: \(circle.joined(separator: ", by "))"
                )
            }
        }
        section.refuseOthers()
        guard !report.inputs.isSandboxed else { return (credentials, key) }
        for destination in destinations {
            guard let credential = destination.credential, !names.contains(credential) else {
                continue
            }
            guard credential == "default" else {
                let hint = nearMiss(credential, among: names).map { "; did you mean \($0)?" }
                report.add(
                    destination.credentialPlace,
                    key: "destinations.\(destination.name).credential",
                    "there is no credential named \(credential)\(hint ?? "")"
                )
                continue
            }
            // What nobody describes comes from where Alibaba's own tools look.
            if credentials["default"] == nil { credentials["default"] = .undescribed(report) }
        }
        return (credentials, key)
    }

    /// Those that ask for each other's role in a circle, beginning and ending with the name; nil when it is in none.
    private static func circle(
        from name: String,
        _ callers: [String: String]
    ) -> [String]? {
        var path = [name]
        while let next = callers[path[path.count - 1]] {
            if next == name { return path + [next] }
            // Another's circle, which is told of those that are in it.
            if path.contains(next) { return nil }
            path.append(next)
        }
        return nil
    }

    private static func readEncryptionKey(_ section: inout Section) -> Secret? {
        guard let key = section.value(encryptionKey, .text(upTo: 1024)) else { return nil }
        guard !key.isEmpty else {
            section.problem(
                encryptionKey,
                "is empty; give the key, or leave the line out to keep what is pushed in memory only"
            )
            return nil
        }
        let secret = Secret(key)
        do throws(SecretBoxProblem) {
            _ = try SealingKey(secret)
            return secret
        } catch {
            section.problem(encryptionKey, error.description)
            return nil
        }
    }
}

import Credentials
import Crypto
import SLS

/// The group `credentials`: sources under names of the operator's choice, and a key that is no
/// credential.
struct CredentialsGroup: SettingGroup {
    private static let encryptionKey = "encryption_key"

    private var key: String?

    static var settings: [Setting<CredentialsGroup>] {
        Setting(encryptionKey, \.key, .text(upTo: 1024)) {
            """
            a key or a long passphrase that encrypts pushed credentials on disk; without it, they are \
            gone after a restart
            """
        }
    }

    /// Reads the credentials and sees to it that each one in use exists.
    static func read(
        _ given: consuming Section,
        usedBy destinations: [DescribedDestination]
    ) -> (sources: [String: CredentialSource], encryptionKey: Secret?) {
        var section = given
        let report = section.report
        var entry = CredentialsGroup()
        entry.readSettings(&section)
        let key = entry.sealingKey(section)
        var credentials: [String: CredentialSource] = [:]
        let names = section.names.filter { $0 != encryptionKey }
        // Also those of credentials that are wrong otherwise.
        var callers: [String: String] = [:]
        for name in names {
            credentials[name] = CredentialEntry.read(section.section(name), caller: &callers[name])
        }
        for name in names {
            guard let caller = callers[name] else { continue }
            if !names.contains(caller) || caller == name {
                section.problem(
                    name,
                    "its source \(caller) \(caller == name ? "is itself" : "is no credential here")"
                )
            } else if let circle = circle(from: name, callers) {
                section.problem(name, "it stands on itself: \(circle.joined(separator: ", by "))")
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

    /// The credentials that assume roles with each other in a circle. The first and the last are
    /// the given name; nil: it is in no circle.
    private static func circle(from name: String, _ callers: [String: String]) -> [String]? {
        var path = [name]
        while let next = callers[path[path.count - 1]] {
            if next == name { return path + [next] }
            // Another's circle, which is told of those that are in it.
            if path.contains(next) { return nil }
            path.append(next)
        }
        return nil
    }

    private func sealingKey(_ section: borrowing Section) -> Secret? {
        guard let key else { return nil }
        guard !key.isEmpty else {
            section.problem(
                Self.encryptionKey,
                "is empty; give the key, or leave the line out to keep what is pushed in memory only"
            )
            return nil
        }
        let secret = Secret(key)
        do throws(SecretBoxProblem) {
            _ = try SealingKey(secret)
            return secret
        } catch {
            section.problem(Self.encryptionKey, error.description)
            return nil
        }
    }
}

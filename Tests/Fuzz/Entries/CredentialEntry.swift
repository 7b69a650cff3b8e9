import Crypto
import SLS
import System

@testable import Credentials

/// Files with credentials, answers of those who give them, and what is inside a sealed one.
enum CredentialEntry: FuzzEntry {
    static let name = "credentials"
    static let bytesMax = 2048

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        if let document = CredentialDocument(json: bytes) {
            let isWhole = document.missing.isEmpty
            try check((document.credential != nil) == isWhole, "half a credential: \(document)")
        }
        var profiles = IniProfiles(bytes)?.sections ?? [:]
        profiles.merge(CLIProfiles(bytes)?.profiles ?? [:]) { first, _ in first }
        for (name, settings) in profiles { try keepsPromises(name, settings) }
        try isSealedWhole(bytes)
    }

    private static func keepsPromises(
        _ name: String,
        _ settings: [String: Secret]
    ) throws(Contradiction) {
        let profile = Profile(place: "the profile '\(name)' of a file", settings: settings)
        let source = try? profile.source { _ throws(SourceProblem) in .fixed(Self.caller) }
        guard case .fixed(let credential)? = source else { return }
        try check(!credential.accessKeyID.isEmpty, "a key without an id")
        try check(credential.secret.byteCount > 0, "a key without a secret")
    }

    private static let caller = Credential(accessKeyID: "LTAI", secret: Secret("secret"))

    /// Whoever can write what is sealed has the key; it is read with care all the same.
    private static func isSealedWhole(_ bytes: [UInt8]) throws(Contradiction) {
        guard let pushed = PlainCredential.read(bytes) else { return }
        let written = PlainCredential.bytes(of: pushed)
        let again = PlainCredential.read(written).map { PlainCredential.bytes(of: $0) }
        try check(again == written, "written anew it is another credential")
    }
}

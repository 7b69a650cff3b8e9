import Crypto
import SLS
import System

@testable import Credentials
@testable import Tokens

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

/// JSON Web Tokens: the input is one, or its first line is the header and the rest the claims of
/// one that is signed.
enum TokenEntry: FuzzEntry {
    static let name = "tokens"

    private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
    private static let rules = {
        let key = TokenKey(id: "k", .secret(Secret("0123456789abcdef0123456789abcdef")))
        var rules = TokenRules(algorithm: .hs256, keys: [key])
        rules.audiences = ["gw"]
        rules.issuer = "joe"
        rules.destinationsClaim = "scope"
        return rules
    }()

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        if let decoded = base64Decoded(bytes[...], .url) {
            try check(encoded(decoded) == bytes, "two texts stand for one thing")
        }
        _ = try? rules.verify(bytes[...], at: Fixed.arrival)
        let parts = bytes.split(
            separator: UInt8(ascii: "\n"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2 else { return }
        let point = [UInt8(ascii: ".")]
        let message = encoded(Array(parts[0])) + point + encoded(Array(parts[1]))
        let token = message + point + encoded(Digest.hmacSHA256(key: secret, message))
        guard let verified = try? rules.verify(token[...], at: Fixed.arrival) else { return }
        try check(verified.end > Fixed.arrival.seconds, "it has ended: \(verified)")
        try check(verified.destinations != nil, "for all destinations, though it has a list")
        // Not with a single bit of it changed, in whichever part.
        for place in [0, message.count / 2, token.count - 2] {
            var changed = token
            changed[place] ^= 1
            let isTaken = (try? rules.verify(changed[...], at: Fixed.arrival)) != nil
            try check(!isTaken, "taken with another byte at \(place)")
        }
    }

    private static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
        )
        var text: [UInt8] = []
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(digits[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(digits[Int(bits << (6 - count) & 63)]) }
        return text
    }
}

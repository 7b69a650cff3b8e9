import Crypto
package import SLS
package import System

/// A credential from a source, with its expiry and origin.
package struct SuppliedCredential: Sendable, Equatable {
    package let credential: Credential
    /// The end that the source reported; nil if the credential does not expire.
    package let expiration: WallTime?
    /// The same time by this host's clock.
    package private(set) var usableUntil: WallTime?
    /// The origin in words: "STS AssumeRole acs:ram::1:role/log-writer".
    package let origin: String
    package private(set) var obtainedAt: WallTime
    /// Identifies the credential without revealing it: the first 8 digits of a SHA-256 over id,
    /// secret and token.
    package let fingerprint: String

    /// `clockOffset` is the lead of the source's clock over this host's.
    package init(
        _ credential: Credential,
        expiration: WallTime? = nil,
        origin: String,
        obtainedAt: WallTime,
        clockOffset: Duration = .zero
    ) {
        self.credential = credential
        self.expiration = expiration
        usableUntil = expiration.map { $0 - clockOffset }
        self.origin = origin
        self.obtainedAt = obtainedAt
        fingerprint = Self.fingerprint(of: credential)
    }

    /// Smaller clock differences are ignored: answers take time, and dates have whole seconds.
    static let clockNoise: Duration = .seconds(30)

    func isSame(as other: SuppliedCredential) -> Bool {
        credential == other.credential && expiration == other.expiration
    }

    /// The same credential, reported again after the clock may have been set. Its remaining time
    /// follows the new end, and its lifetime stays.
    func updated(from other: SuppliedCredential) -> SuppliedCredential {
        guard let before = usableUntil, let after = other.usableUntil else { return self }
        let step = after - before
        guard step > Self.clockNoise || step < .zero - Self.clockNoise else { return self }
        var updated = self
        (updated.usableUntil, updated.obtainedAt) = (after, obtainedAt + step)
        return updated
    }

    package func isExpired(at now: WallTime) -> Bool {
        usableUntil.map { $0 <= now } ?? false
    }

    /// "LTAI…9xYz": enough to find the key in the console.
    package var shownID: String {
        let id = credential.accessKeyID
        guard id.count > 12 else { return "\(id.prefix(2))…" }
        return "\(id.prefix(4))…\(id.suffix(4))"
    }

    /// The time to have the next credential, counted back from the end: a fifth of the lifetime and
    /// at least three minutes, but at most half. `random`, from 0 to 1, spreads gateways that
    /// started together.
    package func refreshTime(random: Double = 0) -> WallTime? {
        guard let usableUntil else { return nil }
        let lifetime = max(.zero, usableUntil - obtainedAt)
        let margin = max(lifetime / 5, .seconds(180)) * (1 + random / 5)
        return usableUntil - min(margin, lifetime / 2)
    }

    private static func fingerprint(of credential: Credential) -> String {
        let token = credential.securityToken ?? Secret("")
        return token.withBytes { token in
            let tail = String(decoding: token, as: UTF8.self)
            return credential.secret.withKey(before: credential.accessKeyID, after: tail) {
                String(hex(Digest.sha256($0)).prefix(8))
            }
        }
    }
}

extension WallTime {
    static func - (time: WallTime, duration: Duration) -> WallTime {
        time + (.zero - duration)
    }
}

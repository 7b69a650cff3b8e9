import Crypto
package import SLS
package import System

/// A credential as a source gave it, with what is known about it.
package struct SuppliedCredential: Sendable, Equatable {
    package let credential: Credential
    /// As the source said it; nil for one that does not expire.
    package let expiration: WallTime?
    /// The same moment by the clock of this host.
    package private(set) var usableUntil: WallTime?
    /// Where it came from, in words: "STS AssumeRole acs:ram::1:role/log-writer".
    package let origin: String
    package private(set) var obtainedAt: WallTime
    /// Tells credentials apart and reveals none: the first 8 digits of a SHA-256 over id, secret and
    /// token.
    package let fingerprint: String

    /// `clockOffset` is how much the source's clock is ahead of this host's.
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

    /// Less than that is noise: answers take a while, and dates are whole seconds.
    static let clockNoise: Duration = .seconds(30)

    func isSame(as other: SuppliedCredential) -> Bool {
        credential == other.credential && expiration == other.expiration
    }

    /// The same credential, as it is told again by a clock that may have been set meanwhile. It has not become
    /// younger: what is left of it counts from the end, and how long it lasts stays.
    func retold(as other: SuppliedCredential) -> SuppliedCredential {
        guard let before = usableUntil, let after = other.usableUntil else { return self }
        let step = after - before
        guard step > Self.clockNoise || step < .zero - Self.clockNoise else { return self }
        var retold = self
        (retold.usableUntil, retold.obtainedAt) = (after, obtainedAt + step)
        return retold
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

    /// When it is high time to have the next one, counted back from the end: a fifth of the lifetime and
    /// at least three minutes, but never more than half. `random`, from 0 to 1, spreads those who began
    /// together.
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

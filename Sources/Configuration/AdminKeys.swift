package import Crypto
import Glibc
package import HTTP
import SLS
import System

/// What a token lets its holder do.
package enum AdminRole: String, Sendable, Equatable, CaseIterable {
    /// Look only: `GET` and `HEAD`.
    case read
    case full
}

/// A token that the operator gave a name to, so that the audit log can tell who did what.
package struct NamedToken: Sendable, Equatable {
    package var name: String
    package var secret: Secret
    package var role: AdminRole

    package init(name: String, secret: Secret, role: AdminRole) {
        self.name = name
        self.secret = secret
        self.role = role
    }
}

/// Whoever showed a token that is known.
package struct AdminHolder: Sendable, Equatable {
    package let name: String
    package let role: AdminRole
    /// Tells the token from others that had its name.
    let mark: [UInt8]

    /// With that of the certificate, where the other end showed one: a token may be in many hands.
    package func name(at peer: PeerAddress) -> String {
        peer.clientName.map { "\(name) (certificate \(printable($0)))" } ?? name
    }
}

/// Divides places on the admin side among tokens: one token gets half of them, and those for
/// reading get three quarters together. Read-only tokens cannot lock out those with more rights.
package struct AdminShares: Sendable {
    package let all: Int
    package var ofToken: Int { all / 2 }
    package var ofReaders: Int { all * 3 / 4 }

    package init(_ all: Int) { self.all = all }

    /// False where the others leave none of the places to the holder.
    package func hasRoom(for holder: AdminHolder, beside others: [AdminHolder]) -> Bool {
        others.count < all
            && others.count { $0.name == holder.name } < ofToken
            && (holder.role == .full || others.count { $0.role != .full } < ofReaders)
    }
}

/// All tokens that the admin listener knows.
package struct AdminKeys: Sendable, Equatable {
    /// `admin.token`, or the one that the gateway made for itself.
    package static let mainName = "admin"
    package static let namedMax = 32

    private var keys: [(token: AdminToken, holder: AdminHolder)]

    package init(main: Secret, named: [NamedToken] = []) {
        let first = NamedToken(name: Self.mainName, secret: main, role: .full)
        keys = ([first] + named).map {
            let mark = $0.secret.withBytes { Digest.sha256(Array($0)) }
            return (AdminToken($0.secret), AdminHolder(name: $0.name, role: $0.role, mark: mark))
        }
    }

    package static func == (left: AdminKeys, right: AdminKeys) -> Bool {
        left.keys.map(\.token) == right.keys.map(\.token)
            && left.keys.map(\.holder) == right.keys.map(\.holder)
    }

    /// Whether whoever was let in before still would be, and may do the same.
    package func know(_ holder: AdminHolder) -> Bool {
        keys.contains { $0.holder == holder }
    }

    /// Who the `Authorization` value belongs to. All tokens are compared, whichever fits.
    package func holder(of authorization: some Collection<UInt8>) -> AdminHolder? {
        var found: AdminHolder?
        for key in keys where key.token.admits(authorization) { found = found ?? key.holder }
        return found
    }
}

/// The bearer token of the admin listener.
package struct AdminToken: Sendable, Equatable {
    package static let bytesMin = 32

    private let secret: Secret

    package init(_ secret: Secret) {
        self.secret = secret
    }

    /// Compares in a time that does not depend on the secret.
    func admits(_ authorization: some Collection<UInt8>) -> Bool {
        let scheme = Array("bearer ".utf8)
        guard authorization.count > scheme.count,
            zip(authorization, scheme).allSatisfy({ $0 | 0x20 == $1 })
        else { return false }
        let given = authorization.dropFirst(scheme.count)
        return secret.withBytes { bytes in
            var difference: UInt8 = given.count == bytes.count ? 0 : 1
            for (offset, byte) in given.enumerated() {
                difference |= byte ^ bytes[offset % bytes.count]
            }
            return difference == 0
        }
    }
}

package import Crypto
import Glibc
import SLS
import System

/// The bearer token of the admin listener.
package struct AdminToken: Sendable, Equatable {
    package static let bytesMin = 32

    private let secret: Secret

    package init(_ secret: Secret) {
        self.secret = secret
    }

    /// Whether an `Authorization` value carries this token. The time it takes says nothing about how
    /// much of a wrong one was right.
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

package import Crypto
package import System

/// What the requests of one transfer have in common.
package struct TransferOptions: Sendable {
    package enum Trust: Sendable {
        /// The authorities of the system.
        case system
        /// Only the authorities in a PEM file, also for a proxy spoken to by https.
        case authorities(file: String)
        /// Only the certificate in the file, under any name: the key must have this hash ("sha256//…").
        case pinned(file: String, keyHash: String)
    }

    package struct ClientCertificate: Sendable {
        package let chainFile: String
        package let keyFile: String

        package init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    package struct ProxyAccess: Sendable {
        /// `http://`, `https://` or `socks5h://`, host and port.
        package let address: String
        package let user: String?
        package let password: Secret?

        package init(address: String, user: String?, password: Secret?) {
            self.address = address
            self.user = user
            self.password = password
        }
    }

    package var trust = Trust.system
    /// Shown to a server that asks for one.
    package var clientCertificate: ClientCertificate?
    /// nil: none. The environment never adds one.
    package var proxy: ProxyAccess?
    /// Name, TCP, TLS, and what a proxy needs.
    package var connectTimeout: Duration
    /// A request that moves no byte for that long is given up; nil: none is.
    package var stallTimeout: Duration?
    /// Older connections are not used; nil when all may be.
    package var connectionsSince: Moment?

    package init(connectTimeout: Duration) {
        self.connectTimeout = connectTimeout
    }
}

package import Crypto
package import System

/// Options shared by all requests of one transfer.
package struct TransferOptions: Sendable {
    package enum Trust: Sendable {
        /// The system's certificate authorities.
        case system
        /// Only the authorities in a PEM file, also for an https proxy.
        case authorities(file: String)
        /// Only the certificate in the file, under any name; its key must have this hash
        /// ("sha256//…").
        case pinned(file: String, keyHash: String)
    }

    package struct ClientCertificate: Sendable, Equatable {
        package let chainFile: String
        package let keyFile: String

        package init(chainFile: String, keyFile: String) {
            self.chainFile = chainFile
            self.keyFile = keyFile
        }
    }

    package struct ProxyAccess: Sendable {
        /// `http://`, `https://` or `socks5h://`, with host and port.
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
    /// Lets a TLS server choose HTTP/2. Otherwise all is HTTP/1.1.
    package var offersHTTP2 = false
    /// Shown to a server that asks for one.
    package var clientCertificate: ClientCertificate?
    /// nil: no proxy. The environment never adds one.
    package var proxy: ProxyAccess?
    /// Covers name lookup, TCP, TLS, and the proxy's handshake.
    package var connectTimeout: Duration
    /// A request that moves no byte for this long fails; nil: no limit.
    package var stallTimeout: Duration?
    /// Older connections are not reused; nil: all may be.
    package var connectionsSince: Moment?

    package init(connectTimeout: Duration) {
        self.connectTimeout = connectTimeout
    }
}

package import Crypto
import SLS
import System

/// A proxy between the gateway and SLS, where the network demands one. TLS goes through it from end
/// to end: it sees names and sizes, no logs and no keys.
package struct Proxy: Sendable, Hashable {
    package enum Scheme: String, Sendable {
        case http
        /// The connection to the proxy is encrypted too, and its certificate verified.
        case https
        /// The proxy finds the address of SLS.
        case socks5h
    }

    package let scheme: Scheme
    package let host: String
    package let port: Int
    package let user: String?
    package let password: Secret?

    /// The address for curl, which takes user and password separately.
    var address: String { "\(scheme.rawValue)://\(host):\(port)" }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(address)
        hasher.combine(user)
    }
}

extension Proxy: CustomStringConvertible, CustomDebugStringConvertible {
    /// Without the password, so it may be shown.
    package var description: String {
        guard let user else { return address }
        let secret = password == nil ? "" : ":•••"
        return "\(scheme.rawValue)://\(percentEncoded(user))\(secret)@\(host):\(port)"
    }

    package var debugDescription: String { description }
}

/// An error in a proxy's address. It never repeats the address: that may hold a password.
package struct ProxyError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

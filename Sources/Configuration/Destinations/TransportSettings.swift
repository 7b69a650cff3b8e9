import Crypto
package import HTTPClient
import SLS
package import System

/// How requests travel to a destination: for how long, through which proxy, and whose certificates
/// are trusted.
package struct TransportSettings: Sendable, Equatable {
    /// Until there is a connection. On weak networks SLS's SDKs advise 20 s, as for `sendTimeout`.
    package var connectTimeout: Duration = .seconds(10)
    /// From request to answer, in addition to the time that the body may take.
    package var sendTimeout: Duration = .seconds(15)
    /// A request that moves no byte for so long is given up. Nil: as long as `sendTimeout`.
    package var stallTimeout: Duration?
    /// A PEM file of authorities in place of the system's; also for an https proxy.
    package var certificateAuthorities: String?
    /// What all requests go through.
    package var proxy: Proxy?
    /// Where addresses come from, in order. Empty: the system. A proxy resolves names itself.
    package var resolvers: ResolverRules = []

    package init() {}
}

/// An error in a proxy's address. Never repeats it: it may hold a password.
package struct ProxyError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

extension Proxy {
    /// SOCKS has no room for longer ones.
    private static let nameBytesMax = 255

    /// Reads `http://`, `https://` or `socks5h://`, then `[user[:password]@]host:port`, user and
    /// password percent-encoded.
    package init(parsing text: String) throws(ProxyError) {
        func problem(_ reason: String) -> ProxyError {
            ProxyError(
                description: "the proxy \(reason); write it as http://user:password@proxy:3128 "
                    + "(or https://, or socks5h://), without the user where none is needed"
            )
        }
        guard let mark = text.firstRange(of: "://") else { throw problem("has no scheme") }
        let name = text[..<mark.lowerBound].lowercased()
        guard let scheme = Scheme(rawValue: name) else {
            throw problem(
                name.hasPrefix("socks")
                    ? "must be socks5h, which lets the proxy find SLS's address"
                    : "has a scheme that is not known"
            )
        }
        var rest = text[mark.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        // A password may hold an unencoded "@"; a host cannot.
        let at = rest.lastIndex(of: "@")
        let place = at.map { rest[rest.index(after: $0)...] } ?? rest
        // The rules for an endpoint's host hold for a proxy's, too.
        guard let host = try? Endpoint(parsing: "http://\(place)") else {
            throw problem("has no host that can be one")
        }
        guard place.hasSuffix(":\(host.port)") else { throw problem("has no port") }
        self.init(scheme, host: host.host, port: host.port)
        guard let at else { return }
        let colon = rest[..<at].firstIndex(of: ":")
        guard let user = Self.decoded(rest[..<(colon ?? at)]), !user.isEmpty,
            // Basic authentication ends the user there.
            !user.contains(":")
        else { throw problem("has a user that is empty, too long or not to be read") }
        self.user = user
        guard let colon else { return }
        guard let password = Self.decoded(rest[rest.index(after: colon)..<at]) else {
            throw problem("has a password that is too long or not to be read")
        }
        self.password = Secret(password)
    }

    /// Nil for a broken escape, a control character, or too much.
    private static func decoded(_ text: Substring) -> String? {
        guard let bytes = percentDecoded(Array(text.utf8)[...]) else { return nil }
        guard bytes.count <= nameBytesMax, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension Kind<Proxy> {
    /// It may contain a password, so no message repeats any of it; the password is not shown.
    static var proxy: Kind {
        Kind(
            wants: "a proxy such as http://10.0.0.1:3128",
            show: { .text("\($0)") },
            parsedBy: Proxy.init(parsing:)
        )
    }
}

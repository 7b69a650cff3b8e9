package import Crypto
package import Net

/// How a client reaches the servers of one NATS cluster.
package struct NATSSettings: Sendable, Equatable {
    package enum Authentication: Sendable, Equatable {
        case none
        case user(String, password: Secret)
        case token(Secret)
        /// A file with the seed of a user's key (`SU…`).
        case seed(file: String)
        /// A credentials file, with a user's JWT and seed.
        case credentials(file: String)
    }

    /// Where to ask first. Servers name the others of their cluster.
    package var servers: [NATSServerAddress]
    /// Files are read again for each connection, so that they can be rotated.
    package var authentication: Authentication
    /// nil: TLS is used only with servers that demand it or have a `tls://` address.
    package var tls: OutboundTLS?
    /// The program and its version, shown in the server's list of connections.
    package var name: String
    /// Answers come to subjects below this one. A prefix of the program's own lets a server keep
    /// other users from reading them; many users may subscribe to all of `_INBOX.>`.
    package var inboxPrefix = "_INBOX"
    package var minimumVersion: ServerVersion?
    /// How long a connection and its greeting may take.
    package var connectTimeout: Duration = .seconds(4)
    /// A silent connection is probed after this, and given up after three times as long.
    package var silenceMax: Duration = .milliseconds(1500)

    package init(
        servers: [NATSServerAddress],
        authentication: Authentication = .none,
        tls: OutboundTLS? = nil,
        name: String,
        minimumVersion: ServerVersion? = nil
    ) {
        self.servers = servers
        self.authentication = authentication
        self.tls = tls
        self.name = name
        self.minimumVersion = minimumVersion
    }
}

/// A server's version: `2.14.5`. A pre-release counts as the release that it precedes.
package struct ServerVersion: Comparable, Sendable, CustomStringConvertible {
    private let numbers: [Int]

    package init(_ major: Int, _ minor: Int, _ patch: Int) {
        numbers = [major, minor, patch]
    }

    /// nil if it is not three numbers.
    package init?(_ text: String) {
        let release = text.prefix { $0 != "-" && $0 != "+" }
        let parts = release.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var numbers: [Int] = []
        for part in parts {
            guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        self.numbers = numbers
    }

    package var description: String { numbers.map { "\($0)" }.joined(separator: ".") }

    package static func < (left: ServerVersion, right: ServerVersion) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }
}

/// A server: `nats://host:port`, or `tls://host:port` if the client must use TLS.
package struct NATSServerAddress: Hashable, Sendable, CustomStringConvertible {
    package static let usualPort: UInt16 = 4222

    /// A name, or a numeric address without brackets.
    package let host: String
    package let port: UInt16
    package let wantsTLS: Bool

    package init(host: String, port: UInt16 = usualPort, wantsTLS: Bool = false) {
        self.host = host
        self.port = port
        self.wantsTLS = wantsTLS
    }

    /// nil unless the text is such a URL. A server gives the addresses of others without a scheme.
    package init?(_ text: String) {
        var rest = Substring(text)
        var wantsTLS = false
        if let mark = text.firstRange(of: "://") {
            switch text[..<mark.lowerBound] {
            case "nats": break
            case "tls": wantsTLS = true
            default: return nil
            }
            rest = text[mark.upperBound...]
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let host: Substring
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
            guard host.contains(":") else { return nil }
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            host = rest[..<end]
            rest = rest[end...]
        }
        let isPlain = host.utf8.allSatisfy { byte in
            (0x21...0x7e).contains(byte) && !"/?#@\\\"".utf8.contains(byte)
        }
        guard !host.isEmpty, host.utf8.count <= 253, isPlain else { return nil }
        if rest.isEmpty {
            self.init(host: String(host), wantsTLS: wantsTLS)
        } else {
            guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else {
                return nil
            }
            self.init(host: String(host), port: port, wantsTLS: wantsTLS)
        }
    }

    package var description: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return "\(wantsTLS ? "tls" : "nats")://\(host):\(port)"
    }
}

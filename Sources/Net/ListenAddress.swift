/// An address to listen on: a numeric host and a port, as written in a configuration.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// "127.0.0.1" or "::1", without brackets.
    package let host: String
    /// 0 lets the kernel choose a free port.
    package let port: UInt16
    /// Listens on every address: one socket for both families, or IPv4 alone where the kernel has
    /// no IPv6.
    package let isEverywhere: Bool

    package init(host: String, port: UInt16) {
        self.init(host: host, port: port, isEverywhere: false)
    }

    private init(host: String, port: UInt16, isEverywhere: Bool) {
        self.host = host
        self.port = port
        self.isEverywhere = isEverywhere
    }

    package static func everywhere(port: UInt16) -> ListenAddress {
        ListenAddress(host: "::", port: port, isEverywhere: true)
    }

    /// The same port on every IPv4 address.
    var withoutIPv6: ListenAddress { ListenAddress(host: "0.0.0.0", port: port) }

    /// Parses "0.0.0.0:8080", "127.0.0.1:0", "[::1]:80", "localhost:80", or ":8080" and "[::]:8080"
    /// (every address).
    package init(parsing text: String) throws(ListenAddressError) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            throw ListenAddressError(text: text, reason: "the port is missing")
        }
        let digits = text[text.index(after: colon)...]
        guard
            !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else {
            throw ListenAddressError(text: text, reason: "the port is not a number up to 65535")
        }
        let name = text[..<colon]
        guard !name.isEmpty else {
            self = .everywhere(port: port)
            return
        }
        let host = try Self.host(named: name, in: text)
        self.init(host: host, port: port, isEverywhere: host == "::")
    }

    private static func host(
        named name: Substring,
        in text: String
    ) throws(ListenAddressError) -> String {
        if name == "localhost" { return "127.0.0.1" }
        if name.first == "[", name.last == "]" {
            let inner = String(name.dropFirst().dropLast())
            // Normalises "[0::0]" to "[::]", and a mapped IPv4 address to IPv4.
            if inner.contains(":"), let address = SocketAddress(host: inner, port: 0) {
                return address.host
            }
            throw ListenAddressError(text: text, reason: "[\(inner)] is not an IPv6 address")
        }
        if name.contains(":") {
            throw ListenAddressError(text: text, reason: "an IPv6 address needs brackets")
        }
        guard SocketAddress(host: String(name), port: 0) != nil else {
            throw ListenAddressError(text: text, reason: "\"\(name)\" is not a numeric address")
        }
        return String(name)
    }

    /// "127.0.0.1:8080" or "[::1]:8080"
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

package struct ListenAddressError: Error, Equatable, CustomStringConvertible {
    package let text: String
    package let reason: String

    package var description: String {
        "\"\(text)\" is not an address to listen on: \(reason);"
            + " write it like 0.0.0.0:8080, [::1]:8080 or :8080"
    }
}

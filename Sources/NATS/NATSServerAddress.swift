/// Where a NATS server listens: `nats://host:port`, or `tls://host:port` if the client must use
/// TLS.
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

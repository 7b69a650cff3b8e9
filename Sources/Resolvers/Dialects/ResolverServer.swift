package import Net

/// A server of a resolver: where to connect, and the name that its certificate has.
package struct ResolverServer: Hashable, Sendable, CustomStringConvertible {
    package let isEncrypted: Bool
    /// In the URL, in the Host header and in the certificate.
    package let name: String
    package let port: Int
    /// Where the connection goes. nil: to `name`, which the system resolves unless it is an
    /// address.
    package let address: IPAddress?

    package init(isEncrypted: Bool, name: String, port: Int? = nil, address: IPAddress? = nil) {
        self.isEncrypted = isEncrypted
        self.name = name
        self.port = port ?? (isEncrypted ? 443 : 80)
        self.address = address
    }

    /// Without path.
    package var origin: String {
        let scheme = isEncrypted ? "https" : "http"
        let isUsual = port == (isEncrypted ? 443 : 80)
        let host = name.contains(":") ? "[\(name)]" : name
        return "\(scheme)://\(host)\(isUsual ? "" : ":\(port)")"
    }

    package var description: String {
        guard let address else { return origin }
        return "\(origin) at \(address)"
    }
}

extension ResolverServer {
    /// Parses `http(s)://HOST[:PORT]`. An address gets `certificateName` as its name, if the server
    /// is encrypted.
    package init?(_ text: String, certificateName: String? = nil) {
        let isEncrypted = text.hasPrefix("https://")
        guard isEncrypted || text.hasPrefix("http://") else { return nil }
        var rest = text.dropFirst(isEncrypted ? 8 : 7)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var (host, port) = (rest, Int?.none)
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
            guard IPAddress(String(host)) != nil, rest.isEmpty || rest.hasPrefix(":") else {
                return nil
            }
            rest = rest.dropFirst()
        } else if let colon = rest.firstIndex(of: ":") {
            host = rest[..<colon]
            rest = rest[rest.index(after: colon)...]
        } else {
            rest = ""
        }
        if !rest.isEmpty {
            guard let number = UInt16(rest), number > 0 else { return nil }
            port = Int(number)
        }
        let address = IPAddress(String(host))
        guard address != nil || HostName.isValid(host) else { return nil }
        let name = isEncrypted && address != nil ? certificateName : nil
        self.init(
            isEncrypted: isEncrypted,
            name: name ?? String(host),
            port: port,
            address: name == nil ? nil : address
        )
    }
}

/// Names of hosts, as resolvers are asked for them.
package enum HostName {
    /// RFC 1123, with the underscore that some names have. No address is a name.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        let labels = Array(text.utf8).split(
            separator: UInt8(ascii: "."),
            omittingEmptySubsequences: false
        )
        let isNumber = labels.last.map { $0.allSatisfy { (0x30...0x39).contains($0) } } ?? true
        return text.utf8.count <= 253 && !isNumber
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-")
                    && label.last != UInt8(ascii: "-") && label.allSatisfy(\.isOfLabel)
            }
    }

    /// In lower case and without the root's dot, as caches know it.
    package static func canonical(_ text: String) -> String {
        let lower = text.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}

extension UInt8 {
    fileprivate var isOfLabel: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

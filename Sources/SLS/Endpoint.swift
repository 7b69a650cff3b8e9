import Glibc

/// The address of an SLS region.
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case http, https

        var defaultPort: Int { self == .http ? 80 : 443 }
    }

    package let scheme: Scheme
    /// Lower case, without a project; an IPv6 address has brackets.
    package let host: String
    package let port: Int
    let hostIsAddress: Bool

    /// "https://cn-hangzhou.log.aliyuncs.com"
    package var description: String { "\(scheme.rawValue)://\(host)\(portSuffix)" }

    /// The region, if the host name shows it:
    /// `{region}[-intranet|-share|-vpc].(log|sls).aliyuncs.com`.
    package var region: String? {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count == 4, labels[1] == "log" || labels[1] == "sls",
            labels[2] == "aliyuncs", labels[3] == "com"
        else { return nil }
        let name = labels[0]
        let network = ["-intranet", "-share", "-vpc"].first { name.hasSuffix($0) } ?? ""
        return String(name.dropLast(network.count))
    }

    /// The host name with the project as its first label. With a numeric address, the project
    /// travels in `x-log-project` instead.
    package func host(forProject project: String) -> String {
        hostIsAddress ? host : "\(project).\(host)"
    }

    /// Host and port for the `Host` header and the URL; omits the scheme's default port.
    package func authority(forProject project: String) -> String {
        host(forProject: project) + portSuffix
    }

    /// True if requests stay on this machine.
    package var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || (hostIsAddress && host.hasPrefix("127."))
    }

    private var portSuffix: String { port == scheme.defaultPort ? "" : ":\(port)" }
}

/// An invalid endpoint, region or name, in one sentence with the remedy.
package struct EndpointError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

extension Endpoint {
    /// Parses `[http://|https://]host[:port][/]`; without a scheme it means https, as in SLS's
    /// SDKs.
    package init(parsing text: String) throws(EndpointError) {
        func problem(_ reason: String) -> EndpointError {
            EndpointError(
                "endpoint '\(text)' \(reason); write it as https://cn-hangzhou.log.aliyuncs.com"
            )
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw problem("contains spaces or characters other than ASCII")
        }
        var rest = Substring(text.lowercased())
        var scheme = Scheme.https
        if let mark = rest.firstRange(of: "://") {
            guard let known = Scheme(rawValue: String(rest[..<mark.lowerBound])) else {
                throw problem("is neither http nor https")
            }
            scheme = known
            rest = rest[mark.upperBound...]
        }
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains(where: { "/?#@\\".contains($0) }) else {
            throw problem("has more than a scheme, a host and a port")
        }
        let (host, port) = Self.splitPort(rest)
        guard let number = port.isEmpty ? scheme.defaultPort : Self.portNumber(port) else {
            throw problem("has the port '\(port)', which is not a number from 1 to 65535")
        }
        self.scheme = scheme
        self.port = number
        self.host = String(host)
        hostIsAddress = Self.isAddress(host)
        guard hostIsAddress || Self.isName(host) else {
            throw problem(
                host.isEmpty ? "has no host" : "has the host '\(host)', which is not a valid name"
            )
        }
        if let project = Self.projectPrefix(host) {
            throw EndpointError(
                "endpoint '\(text)' begins with a project: write "
                    + "\(scheme.rawValue)://\(host.dropFirst(project.utf8.count + 1)) "
                    + "and set project to \(project)"
            )
        }
    }

    /// The port of an IPv6 address follows its bracket.
    private static func splitPort(_ text: Substring) -> (host: Substring, port: Substring) {
        let afterBracket = text.lastIndex(of: "]") ?? text.startIndex
        guard let colon = text[afterBracket...].lastIndex(of: ":") else { return (text, "") }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    private static func portNumber(_ digits: Substring) -> Int? {
        guard digits.utf8.count <= 5, digits.allSatisfy(\.isNumber), let number = Int(digits),
            (1...65535).contains(number)
        else { return nil }
        return number
    }

    private static func isAddress(_ host: Substring) -> Bool {
        var address = in6_addr()
        guard host.hasPrefix("[") else { return inet_pton(AF_INET, String(host), &address) == 1 }
        return host.hasSuffix("]")
            && inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1
    }

    private static func isName(_ host: Substring) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        // An all-digit last label is an IPv4 address in an unsupported notation.
        return host.utf8.count <= 253 && labels.allSatisfy(isLabel)
            && !labels[labels.count - 1].utf8.allSatisfy { $0 < UInt8(ascii: "a") }
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
            && label.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
    }

    /// Detects the most common mistake, the project's own host. Alibaba's endpoints have one label
    /// before `log.aliyuncs.com`, or are `log-global.aliyuncs.com`.
    private static func projectPrefix(_ host: Substring) -> String? {
        let labels = host.split(separator: ".")
        let isRegional =
            labels.count == 5 && ["log", "sls"].contains(labels[2])
            && labels[3] == "aliyuncs" && labels[4] == "com"
        let isGlobal = labels.count == 4 && host.hasSuffix(".log-global.aliyuncs.com")
        return isRegional || isGlobal ? String(labels[0]) : nil
    }
}

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

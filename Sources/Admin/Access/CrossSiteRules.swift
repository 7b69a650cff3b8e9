import Configuration
import HTTP
import Net
import System

/// Why a browser's request is refused although its session is good: another site may have sent it.
enum CrossSiteRules {
    /// Only pages of this origin can add this field: the listener allows no CORS.
    static let field: StaticString = "x-sluice-csrf"

    static func problem(
        with head: RequestHead,
        changes: Bool,
        isSecure: Bool,
        _ settings: AdminSettings
    ) -> HTTPProblem? {
        if let problem = hostProblem(head, settings) { return problem }
        guard changes else { return nil }
        guard head.fieldRange(field) != nil else {
            return refused("a change in a session needs the field x-sluice-csrf: 1")
        }
        guard head.field("origin") != nil else {
            return refused(
                "a change with a session cookie needs the header Origin of this listener; "
                    + "scripts send Authorization instead"
            )
        }
        return originProblem(head, isSecure: isSecure)
    }

    /// Another site's DNS name may answer with our address (rebinding). An address needs no DNS.
    static func hostProblem(_ head: RequestHead, _ settings: AdminSettings) -> HTTPProblem? {
        let host = hostName(head.field("host") ?? "")
        let isAddress = IPAddress(host) != nil
        guard !isAddress, host != "localhost", !host.hasSuffix(".localhost"),
            host != settings.listen.host.lowercased(), !settings.hosts.contains(host)
        else { return nil }
        return HTTPProblem(
            403,
            "HostRefused",
            "the console is not known as \(clipped(host)); add that name to admin.hosts, or use the address"
        )
    }

    /// A page names its origin with each request that may change something.
    static func originProblem(_ head: RequestHead, isSecure: Bool) -> HTTPProblem? {
        if let site = head.field("sec-fetch-site"), site != "same-origin", site != "none" {
            return refused("a page of another site sent this request")
        }
        guard let origin = head.field("origin") else { return nil }
        let parts = origin.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty,
            // Before a listener without TLS may stand a proxy with it.
            !isSecure || parts[0] == "https:",
            parts[2].lowercased() == (head.field("host") ?? "").lowercased()
        else { return refused("a page of \(clipped(origin)) sent this request") }
        return nil
    }

    private static func refused(_ reason: String) -> HTTPProblem {
        HTTPProblem(403, "CrossSiteRefused", reason)
    }

    /// "[::1]:8081" is "::1".
    private static func hostName(_ host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            return String(host[host.index(after: host.startIndex)..<end])
        }
        return host.prefix { $0 != ":" }.lowercased()
    }
}

import SLS

extension Kind<Secret> {
    /// The URL of a proxy. It may hold a password, so that nothing of it is ever part of a message.
    static var proxy: Kind {
        Kind(wants: "a proxy such as http://10.0.0.1:3128") { text throws(Mismatch) in
            guard isProxy(text) else {
                throw Mismatch(
                    "not the URL of a proxy; write scheme, host and port as in http://10.0.0.1:3128, "
                        + "with http, https, socks5 or socks5h, and user:password@ before the host "
                        + "where one is needed (%40 stands for @ in them)"
                )
            }
            return Secret(text)
        }
    }
}

private func isProxy(_ text: String) -> Bool {
    guard text.utf8.count <= 1024, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
        let scheme = ["http://", "https://", "socks5://", "socks5h://"].first(where: text.hasPrefix)
    else { return false }
    var rest = text.dropFirst(scheme.count)
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    let parts = rest.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2, let place = parts.last, parts.count == 1 || !parts[0].isEmpty else {
        return false
    }
    // An IPv6 address stands in brackets and has colons of its own.
    guard let colon = place.lastIndex(of: ":"), let port = UInt16(place[colon...].dropFirst()),
        port > 0
    else { return false }
    let host = place[..<colon]
    let isAddress = host.hasPrefix("[") && host.hasSuffix("]")
    let name = isAddress ? host.dropFirst().dropLast() : host
    return !name.isEmpty
        && name.allSatisfy {
            $0.isASCII
                && ($0.isLetter || $0.isNumber || (isAddress ? ":.%" : ".-_").contains($0))
        }
}

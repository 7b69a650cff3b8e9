import Net

extension Kind<String> {
    /// The name of a header of requests (RFC 9110 section 5.1), in lower case.
    static var headerName: Kind {
        Kind(wants: "the name of a header such as x-app-version") { written throws(Mismatch) in
            // A star stands for itself where a page sends credentials, as beacons do.
            guard written != "*" else {
                throw Mismatch("\"*\" is not the name of a header; list each that pages send")
            }
            guard (1...64).contains(written.utf8.count), written.utf8.allSatisfy(\.isOfToken) else {
                throw Mismatch(
                    "\(quoted(written)) is not the name of a header: 1 to 64 letters, digits and !#$%&'*+-.^_`|~"
                )
            }
            return written.lowercased()
        }
    }

    /// The origin of pages; see `OriginList`.
    static var origin: Kind {
        Kind(wants: "an origin such as https://app.example.com") { written throws(Mismatch) in
            if written == "*" || written == "null" { return written }
            // Browsers write it so.
            let text = written.lowercased()
            let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, isScheme(parts[0]), let problem = problem(parts[0], parts[1])
            else {
                throw Mismatch(
                    "\(quoted(written)) is not an origin; write one such as https://app.example.com, "
                        + "https://*.example.com, http://localhost:3000 or null"
                )
            }
            guard problem.isEmpty else { throw Mismatch("\(quoted(written)) \(problem)") }
            return text
        }
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-" || $0 == ".")
        }
    }

    /// What is wrong with an authority; empty when nothing is, nil when it is none.
    private static func problem(_ scheme: Substring, _ authority: Substring) -> String? {
        if authority.hasSuffix("/") { return "ends in a slash; origins have no path" }
        var host = authority
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            let port = authority[authority.index(after: colon)...]
            guard let number = UInt16(port), "\(number)" == port, number > 0 else { return nil }
            let own: [Substring: UInt16] = ["http": 80, "https": 443]
            if own[scheme] == number {
                return "has the port of its scheme, which browsers leave out; leave it out"
            }
            host = authority[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = IPAddress(String(host.dropFirst().dropLast()))
            return address.map { $0.isV4 ? "has a v4 address in brackets" : "" }
        }
        if host.hasPrefix("*.") { host = host.dropFirst(2) }
        if host.contains("*") {
            return "has a * that is not the whole first label; write https://*.example.com"
        }
        let isHost = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isHost && !host.isEmpty && host.utf8.count <= 253 ? "" : nil
    }
}

extension UInt8 {
    /// RFC 9110 section 5.6.2.
    fileprivate var isOfToken: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}

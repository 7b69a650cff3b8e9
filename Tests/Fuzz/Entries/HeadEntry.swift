@testable import HTTP

/// Requests' heads.
enum HeadEntry: FuzzEntry {
    static let name = "head"
    static let bytesMax = 1024

    private static let limits = {
        var limits = HTTPServer.Limits()
        limits.requestLineBytes = 120
        limits.headBytes = 400
        limits.headFields = 8
        return limits
    }()

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let whole = HeadReading(bytes, cuts: [], limits)
        let pieces = HeadReading(bytes, cuts: Array(1..<max(1, bytes.count)), limits)
        try check(whole == pieces, "cuts make a difference: \(whole), \(pieces)")
        guard case .head(let head, let consumed) = whole else { return }
        let alone = HeadReading(Array(bytes[..<consumed]), cuts: [], limits)
        try check(alone == whole, "what follows a head changes it: \(whole), \(alone)")
        // A space more in each field may be beyond the limits above.
        guard case .head(let again, _) = HeadReading(head.written, cuts: [], .init()) else {
            throw Contradiction(description: "a head that was taken is refused when written anew")
        }
        try check(again == head, "written anew a head means something else: \(again), \(head)")
        try head.hasOneEnd()
    }
}

extension ReadHead {
    /// The signs of request smuggling, looked for in an obvious way.
    fileprivate func hasOneEnd() throws(Contradiction) {
        func count(_ name: String) -> Int { fields.count { $0.name.lowercased() == name } }
        try check(count("content-length") <= 1, "two lengths")
        try check(count("host") <= 1, "two hosts")
        try check(minorVersion == 0 || count("host") == 1, "no host")
        let isCoded = count("transfer-encoding") > 0
        try check(isCoded == (framing == .chunked), "a coding that is not undone")
        try check(!isCoded || count("content-length") == 0, "two framings")
        if case .length(let length) = framing, count("content-length") == 0 {
            try check(length == 0, "a body of which nothing is said")
        }
    }
}

@testable import HTTP

/// PROXY headers, which name the client behind a proxy.
enum ProxyEntry: FuzzEntry {
    static let name = "proxy"
    static let bytesMax = 700

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard case .header(let header) = Reading(bytes[...]) else { return }
        try check(header.length <= bytes.count, "longer than what came")
        try check(header.length <= ProxyHeader.bytesMax, "longer than any may be")
        for count in 0..<header.length {
            try check(Reading(bytes[..<count]) == .incomplete, "\(count) bytes suffice")
        }
        let alone = Reading(bytes[..<header.length])
        try check(alone == .header(header), "what follows it changes it")
    }

    private enum Reading: Equatable {
        case header(ProxyHeader)
        case incomplete
        case refused(ProxyHeaderError)

        init(_ bytes: ArraySlice<UInt8>) {
            do throws(ProxyHeaderError) {
                let header = try exactly(bytes) { bytes throws(ProxyHeaderError) in
                    try ProxyHeader.parse(bytes)
                }
                self = header.map { .header($0) } ?? .incomplete
            } catch {
                self = .refused(error)
            }
        }
    }
}

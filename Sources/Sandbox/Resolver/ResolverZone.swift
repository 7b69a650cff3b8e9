import Net

/// What the look-alikes of resolvers know about hosts.
struct ResolverZone: Sendable {
    struct Record: Sendable, Equatable {
        var v4: [IPAddress] = []
        var v6: [IPAddress] = []
        var seconds = 60

        init(_ addresses: [IPAddress], seconds: Int = 60) {
            v4 = addresses.filter(\.isV4)
            v6 = addresses.filter { !$0.isV4 }
            self.seconds = seconds
        }
    }

    static let namesMax = 1000

    private(set) var records: [String: Record] = [:]
    private let usual: Record
    /// The answer to every question while a fault says so.
    var replacement: [IPAddress]?

    init(usual address: IPAddress) {
        usual = Record([address])
    }

    /// Without addresses the host does not exist.
    subscript(_ host: String) -> Record {
        let known = records[Self.canonical(host)] ?? usual
        return replacement.map { Record($0, seconds: known.seconds) } ?? known
    }

    /// Returns false when there is no room.
    mutating func set(_ host: String, _ record: Record) -> Bool {
        let host = Self.canonical(host)
        guard records[host] != nil || records.count < Self.namesMax else { return false }
        records[host] = record
        return true
    }

    mutating func removeAll() -> Int {
        defer { records = [:] }
        return records.count
    }

    static func canonical(_ host: String) -> String {
        let lower = host.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }

    /// Letters, digits, hyphens and underscores in labels of up to 63 bytes.
    static func isHost(_ text: String) -> Bool {
        let labels = canonical(text).utf8.split(
            separator: UInt8(ascii: "."),
            omittingEmptySubsequences: false
        )
        return text.utf8.count <= 254
            && labels.allSatisfy { label in
                (1...63).contains(label.count)
                    && label.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                            UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }
}

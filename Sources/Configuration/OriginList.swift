/// Which pages may send, by what browsers call their origin (RFC 6454 section 6.1): "https://app.example.com", with
/// its port where that is not the scheme's own, "https://*.example.com" for each name of one more label, "null" for
/// pages out of files, "*" for all.
package struct OriginList: Sendable, Equatable {
    package static let countMax = 100
    package static let any = OriginList()

    private let exact: Set<String>
    /// What stands before and after the label that may be any.
    private let families: [Family]
    package let isAny: Bool

    fileprivate struct Family: Sendable, Equatable {
        let start: String
        let end: String
    }

    /// Each has been read by `Kind.origin`.
    package init(_ origins: [String]) {
        isAny = origins.contains("*")
        exact = Set(origins.filter { !$0.contains("*") })
        families = origins.filter { $0 != "*" }.compactMap { origin in
            origin.firstIndex(of: "*").map {
                Family(
                    start: String(origin[..<$0]),
                    end: String(origin[origin.index(after: $0)...])
                )
            }
        }
    }

    private init() { self.init(["*"]) }

    private init(exact: Set<String>, families: [Family]) {
        self.exact = exact
        self.families = families
        isAny = false
    }

    package func allows(_ origin: String) -> Bool {
        isAny || exact.contains(origin) || families.contains { $0.has(origin) }
    }

    /// What any of them allows.
    package static func union(_ lists: [OriginList]) -> OriginList {
        if lists.contains(where: \.isAny) { return .any }
        return OriginList(
            exact: lists.reduce(into: []) { $0.formUnion($1.exact) },
            families: lists.flatMap(\.families)
        )
    }
}

extension OriginList.Family {
    fileprivate func has(_ origin: String) -> Bool {
        let bytes = origin.utf8
        guard bytes.starts(with: start.utf8), bytes.count > start.utf8.count + end.utf8.count
        else { return false }
        let label = bytes.dropFirst(start.utf8.count).dropLast(end.utf8.count)
        return bytes.suffix(end.utf8.count).elementsEqual(end.utf8) && label.allSatisfy(\.isOfLabel)
    }
}

extension UInt8 {
    /// As browsers write names of hosts: in lower case, others than ASCII in Punycode.
    fileprivate var isOfLabel: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

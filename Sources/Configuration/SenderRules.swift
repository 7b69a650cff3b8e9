import Net
import System

/// The rights of a sender, in `devices.keys` and `devices.jwt.keys`.
package struct SenderRules: SettingGroup, Sendable, Equatable {
    /// Where it may send; nil is everywhere.
    package var destinations: Set<String>?
    /// Requests that bring logs.
    package var rate: Allowance?
    /// Bodies, inflated.
    package var bytes: Allowance?
    /// Of pages, in place of those that may send in general.
    package var origins: OriginList?

    package init(
        destinations: Set<String>? = nil,
        rate: Allowance? = nil,
        bytes: Allowance? = nil,
        origins: OriginList? = nil
    ) {
        self.destinations = destinations
        self.rate = rate
        self.bytes = bytes
        self.origins = origins
    }

    init() { self.init(destinations: nil) }

    static var settings: [Setting<SenderRules>] {
        Setting("destinations", \.destinations, listOf: .destinationName, 1...64, as: { Set($0) }) {
            "the allowed destinations"
        }
        .default("all")
        Setting("rate", \.rate, Allowance.requests) {
            "[budget](budgets.md) of requests of all senders with this key together: `200/s`"
        }
        Setting("bytes", \.bytes, Allowance.bytes) {
            "[budget](budgets.md) of bytes of all senders with this key together: `2MiB/s`"
        }
        Setting(
            "origins",
            \.origins,
            listOf: .origin,
            1...OriginList.countMax,
            as: { OriginList($0) }
        ) { "origins of web pages that may use it, in place of those" }
        .default("`devices.cors.origins`")
    }

    func check(_ section: borrowing Section) {
        section.refuseUnknownDestinations("destinations")
    }
}

/// An average rate. All of a period may come at once after a silence as long: `12000/m` allows
/// larger bursts than `200/s`.
package struct Allowance: Sendable, Equatable {
    package enum Period: Int64, Sendable, CaseIterable {
        case second = 1
        case minute = 60
        case hour = 3600

        package var unit: String {
            switch self {
            case .second: "s"
            case .minute: "m"
            case .hour: "h"
            }
        }
    }

    package let amount: Int
    package let period: Period

    package init(_ amount: Int, per period: Period = .second) {
        precondition(amount > 0)
        self.amount = amount
        self.period = period
    }
}

extension Allowance {
    private static let amountMax = 1 << 40

    /// Requests in a time.
    static var requests: Kind<Allowance> {
        kind(like: "200/s", .rate(ofBytes: false, units: "smh")) { Int($0) }
    }

    static var bytes: Kind<Allowance> {
        kind(like: "2MiB/s", .rate(ofBytes: true, units: "smh")) { byteSize($0) }
    }

    private static func kind(
        like example: String,
        _ shape: SettingShape,
        _ amount: @escaping @Sendable (String) -> Int?
    ) -> Kind<Allowance> {
        Kind(wants: "a rate such as \(example)", shape) { text throws(Mismatch) in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2,
                let period = Allowance.Period.allCases.first(where: { $0.unit == parts[1] }),
                // "+5" is a number for Swift.
                parts[0].first?.isNumber == true, let count = amount(String(parts[0]))
            else {
                throw Mismatch(
                    "\(quoted(text)) is not a rate; write one such as \(example), or with /m or /h "
                        + "for minutes or hours"
                )
            }
            guard (1...amountMax).contains(count) else {
                throw Mismatch("\(text) allows nothing, or more than can be counted")
            }
            return Allowance(count, per: period)
        }
    }
}

/// Which pages may send, by what browsers call their origin (RFC 6454 section 6.1):
/// "https://app.example.com", with its port where that is not the scheme's own,
/// "https://*.example.com" for each name of one more label, "null" for pages out of files, "*" for
/// all.
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

extension Kind<String> {
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
        return text.isOfLetters(and: "+-.")
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
        return host.isOfLetters(and: "-_.") && !host.isEmpty && host.utf8.count <= 253 ? "" : nil
    }
}

import Net

/// The plain text of Tencent's answers: a line a name,
/// `NAME.:ADDRESS;ADDRESS,TTL-ADDRESS,TTL|CLIENT`. The part behind the hyphen is IPv6's; 0 stands
/// for no address.
enum TencentAnswer {
    static func read(
        _ text: String,
        names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        var found: [String: HostAnswer] = [:]
        for line in text.split(whereSeparator: \.isNewline).prefix(names.count) {
            // An address of the client may follow each line.
            let content = line.prefix { $0 != "|" }
            var (name, rest) = (names[0], content)
            if let end = content.firstRange(of: ".:") {
                name = HostName.canonical(String(content[..<end.lowerBound]))
                rest = content[end.upperBound...]
            } else if names.count > 1 {
                throw .unreadable("a line of the answer has no name")
            }
            guard names.contains(name) else { continue }
            found[name] = try host(rest)
        }
        return found
    }

    private static func host(_ text: Substring) throws(QueryFailure) -> HostAnswer {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try family(parts[0])
        guard parts.count == 2 else {
            let isV6 = first.addresses.first.map { !$0.isV4 } ?? false
            try check(first, isV4: !isV6)
            return isV6 ? HostAnswer(v6: first) : HostAnswer(v4: first)
        }
        let second = try family(parts[1])
        try check(first, isV4: true)
        try check(second, isV4: false)
        return HostAnswer(v4: first, v6: second)
    }

    private static func check(_ answer: FamilyAnswer, isV4: Bool) throws(QueryFailure) {
        guard answer.addresses.allSatisfy({ $0.isV4 == isV4 }) else {
            throw .unreadable("something in the answer is not an address of its family")
        }
    }

    private static func family(_ text: Substring) throws(QueryFailure) -> FamilyAnswer {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count) else { throw .unreadable("the answer has odd commas") }
        var seconds = 60
        if parts.count == 2 {
            guard let told = Int(parts[1]) else { throw .unreadable("a TTL is not a number") }
            seconds = told
        }
        guard parts[0] != "0" else { return FamilyAnswer([], seconds: seconds) }
        var addresses: [IPAddress] = []
        for part in parts[0].split(separator: ";") {
            guard let address = IPAddress(String(part)) else {
                throw .unreadable("something in the answer is not an address")
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else { throw .unreadable("the answer has no addresses") }
        return FamilyAnswer(addresses, seconds: seconds)
    }

    /// `log:0|domain:0|ip:A;B;|ttl:60`. Only IPv4 addresses count.
    static func servers(_ text: String) throws(QueryFailure) -> [IPAddress] {
        let part = text.split(separator: "|").first { $0.hasPrefix("ip:") }
        let addresses = (part?.dropFirst(3).split(separator: ";") ?? [])
            .compactMap { IPAddress(String($0)) }.filter(\.isV4)
        guard !addresses.isEmpty else { throw .unreadable("the list of servers is empty") }
        return Array(addresses.prefix(HostAnswer.addressesMax))
    }
}

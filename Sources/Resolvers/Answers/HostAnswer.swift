package import Net

/// What one resolver knows of a host. A family that was not asked for, or not answered, is nil.
package struct HostAnswer: Equatable, Sendable {
    package var v4: FamilyAnswer?
    package var v6: FamilyAnswer?

    /// No resolver's answer may make the cache or a race larger.
    package static let addressesMax = 16

    /// In the resolver's order, at most `addressesMax`, without repetitions.
    package var addresses: [IPAddress] {
        var found: [IPAddress] = []
        for address in (v4?.addresses ?? []) + (v6?.addresses ?? [])
        where found.count < Self.addressesMax && !found.contains(address) {
            found.append(address)
        }
        return found
    }

    /// The least time to live of the families that have addresses, or else of the negative answers.
    package var timeToLive: Duration {
        let all = [v4, v6].compactMap(\.self)
        let useful = all.filter { !$0.addresses.isEmpty }
        return (useful.isEmpty ? all : useful).map(\.timeToLive).min() ?? .zero
    }

    /// Takes the families that this answer lacks from another one.
    package mutating func merge(_ other: HostAnswer) {
        v4 = v4 ?? other.v4
        v6 = v6 ?? other.v6
    }

    /// Keeps addresses only that pass the filter. Returns how many did not.
    package mutating func filter(_ isAllowed: (IPAddress) -> Bool) -> Int {
        let before = (v4?.addresses.count ?? 0) + (v6?.addresses.count ?? 0)
        v4?.addresses.removeAll { !isAllowed($0) }
        v6?.addresses.removeAll { !isAllowed($0) }
        return before - (v4?.addresses.count ?? 0) - (v6?.addresses.count ?? 0)
    }
}

/// The addresses of one family; none is a negative answer.
package struct FamilyAnswer: Equatable, Sendable {
    package var addresses: [IPAddress]
    package var timeToLive: Duration

    package init(_ addresses: [IPAddress], timeToLive: Duration) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }

    /// A negative or absurd number of seconds counts as none, or as a week.
    package init(_ addresses: [IPAddress], seconds: Int) {
        self.init(addresses, timeToLive: .seconds(min(max(0, seconds), 7 * 86_400)))
    }

    /// An answer that a cache has kept for so many seconds.
    func aged(_ seconds: Int) -> FamilyAnswer {
        FamilyAnswer(addresses, timeToLive: max(.zero, timeToLive - .seconds(max(0, seconds))))
    }
}

/// Addresses that a public resolver has a reason to answer, not those of this network: a poisoned
/// answer must not turn the gateway against what stands beside it.
package enum PublicAddresses {
    /// The special-purpose IPv4 addresses of IANA's registry, and multicast. The metadata service
    /// of Alibaba Cloud's machines is in 100.64.0.0/10.
    private static let specialV4 = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    ])

    /// IANA has assigned only this range to the internet. Outside are those of this network, and of
    /// NAT64.
    private static let globalV6 = ranges(["2000::/3"])

    /// Exceptions in that range: protocols (Teredo, with an IPv4 address, among them), 6to4, and
    /// documentation.
    private static let specialV6 = ranges(["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"])

    package static func contain(_ address: IPAddress) -> Bool {
        let special = address.isV4 ? specialV4 : specialV6
        return (address.isV4 || globalV6.contains { $0.contains(address) })
            && !special.contains { $0.contains(address) }
    }

    private static func ranges(_ texts: [String]) -> [AddressRange] {
        texts.map { text in
            guard let range = try? AddressRange(parsing: text) else {
                preconditionFailure("\(text) is not a range of addresses")
            }
            return range
        }
    }
}

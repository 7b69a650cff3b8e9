package import Net

/// Tells addresses that a public resolver has a reason to answer from those that lead into this
/// network, or nowhere: a poisoned answer must not turn the gateway against what stands beside it.
package enum PublicAddresses {
    /// The special-purpose IPv4 addresses of IANA's registry, and multicast. The metadata service
    /// of Alibaba Cloud's machines is in 100.64.0.0/10.
    private static let specialV4 = ranges([
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    ])

    /// IANA has assigned only this range to the internet. Outside it are all addresses of this
    /// machine and network, and those of NAT64 with an IPv4 address in them.
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

package import Net

/// Tells addresses that a public resolver has a reason to answer from those that lead into this network, or nowhere: a
/// poisoned answer must not turn the gateway against what stands beside it.
package enum PublicAddresses {
    /// The special-purpose IPv4 addresses of IANA's registry, and multicast. The metadata service of Alibaba Cloud's
    /// machines is in 100.64.0.0/10.
    private static let specialV4: [AddressRange] = [
        v4(0, 8), v4(10 << 24, 8), v4(100 << 24 | 64 << 16, 10), v4(127 << 24, 8),
        v4(169 << 24 | 254 << 16, 16), v4(172 << 24 | 16 << 16, 12), v4(192 << 24, 24),
        v4(192 << 24 | 2 << 8, 24), v4(192 << 24 | 88 << 16 | 99 << 8, 24),
        v4(192 << 24 | 168 << 16, 16), v4(198 << 24 | 18 << 16, 15),
        v4(198 << 24 | 51 << 16 | 100 << 8, 24), v4(203 << 24 | 113 << 8, 24), v4(224 << 24, 3),
    ]

    /// IANA has assigned only this range to the internet. Outside it are all addresses of this machine and network, and
    /// those of NAT64 with an IPv4 address in them.
    private static let globalV6 = v6(0x2000 << 48, bits: 3)

    /// Exceptions in that range: protocols (Teredo, with an IPv4 address, among them), 6to4, and documentation.
    private static let specialV6: [AddressRange] = [
        v6(0x2001 << 48, bits: 23), v6(0x2001_0db8 << 32, bits: 32), v6(0x2002 << 48, bits: 16),
        v6(0x3fff << 48, bits: 20),
    ]

    package static func contain(_ address: IPAddress) -> Bool {
        let special = address.isV4 ? specialV4 : specialV6
        return (address.isV4 || globalV6.contains(address))
            && !special.contains { $0.contains(address) }
    }

    private static func v4(_ base: UInt32, _ bits: Int) -> AddressRange {
        AddressRange(IPAddress(v4: base), bits: 96 + bits)
    }

    private static func v6(_ high: UInt64, bits: Int) -> AddressRange {
        AddressRange(IPAddress(v6: high, 0), bits: bits)
    }
}

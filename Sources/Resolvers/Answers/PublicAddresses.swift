package import Net

/// Tells addresses that a public resolver has a reason to answer from those that lead into this network, or nowhere: a
/// poisoned answer must not turn the gateway against what stands beside it.
package enum PublicAddresses {
    /// RFC 6890 and its successors, and the metadata service of Alibaba Cloud's machines (in 100.64.0.0/10).
    private static let others: [AddressRange] = [
        v4(0, 8), v4(10 << 24, 8), v4(100 << 24 | 64 << 16, 10), v4(127 << 24, 8),
        v4(169 << 24 | 254 << 16, 16), v4(172 << 24 | 16 << 16, 12), v4(192 << 24, 24),
        v4(192 << 24 | 168 << 16, 16), v4(198 << 24 | 18 << 16, 15), v4(224 << 24, 3),
        // Unspecified, loopback and addresses with an IPv4 address in them.
        v6(0, bits: 80), v6(0x0064_ff9b << 32, bits: 96), v6(0x2002 << 48, bits: 16),
        v6(0x0100 << 48, bits: 64), v6(0xfc00 << 48, bits: 7), v6(0xfe80 << 48, bits: 10),
        v6(0xfec0 << 48, bits: 10), v6(0xff00 << 48, bits: 8),
    ]

    package static func contain(_ address: IPAddress) -> Bool {
        address.isV4
            ? !others[..<10].contains { $0.contains(address) }
            : !others[10...].contains { $0.contains(address) }
    }

    private static func v4(_ base: UInt32, _ bits: Int) -> AddressRange {
        AddressRange(IPAddress(v4: base), bits: 96 + bits)
    }

    private static func v6(_ high: UInt64, bits: Int) -> AddressRange {
        AddressRange(IPAddress(v6: high, 0), bits: bits)
    }
}

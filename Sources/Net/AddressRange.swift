/// A range of addresses with a common prefix, such as "10.0.0.0/8" or "2001:db8::/32".
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    private let base: IPAddress
    /// The length of the prefix in the 128 bits of an IPv6 address.
    private let bits: Int

    package init(_ base: IPAddress, bits: Int) {
        self.base = base.prefix(bits: bits)
        self.bits = bits
    }

    /// A single address is a range too.
    package init(parsing text: String) throws(AddressRangeError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else {
            throw AddressRangeError(
                "is neither an address nor a range of addresses; write one such as 10.0.0.0/8, 192.0.2.1 or "
                    + "2001:db8::/32"
            )
        }
        let most = parts[0].contains(":") ? 128 : 32
        guard parts.count == 2 else {
            self.init(address, bits: 128)
            return
        }
        guard (1...3).contains(parts[1].utf8.count),
            parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let count = Int(parts[1]), count <= most
        else { throw AddressRangeError("has no prefix of 0 to \(most) bits after its slash") }
        self.init(address, bits: count + 128 - most)
        guard base == address else {
            throw AddressRangeError(
                "has bits beyond its prefix; write \(base)/\(count), or more bits"
            )
        }
    }

    package func contains(_ address: IPAddress) -> Bool {
        address.prefix(bits: bits) == base
    }

    package var description: String {
        let isV4 = base.isV4 && bits >= 96
        return "\(base)/\(isV4 ? bits - 96 : bits)"
    }
}

package struct AddressRangeError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

import Glibc
import System

/// An IPv4 or IPv6 address. IPv4 addresses are kept in mapped form (RFC 4291 section 2.5.5.2), so
/// an address is equal whichever kind of socket it came through.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The 16 bytes in network order, first half.
    private let high: UInt64
    private let low: UInt64

    private static let mappedV4: UInt64 = 0xffff << 32

    package init(v4 address: UInt32) {
        high = 0
        low = Self.mappedV4 | UInt64(address)
    }

    /// Takes the two halves, first bytes first.
    package init(v6 high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses "192.0.2.1" or "2001:db8::1". Rejects ports, zones and brackets.
    package init?(_ text: some Collection<UInt8>) {
        // No address is longer, and none contains a NUL, at which C would stop.
        let isOfAddress = { (byte: UInt8) in hexValue(byte) != nil || ":.".utf8.contains(byte) }
        guard text.count < Int(INET6_ADDRSTRLEN), text.allSatisfy(isOfAddress),
            let address = SocketAddress(host: String(decoding: Array(text), as: UTF8.self), port: 0)
        else { return nil }
        self = address.ip
    }

    package init?(_ text: String) {
        self.init(text.utf8)
    }

    /// In network order: 4 of an IPv4 address, else 16.
    package var bytes: [UInt8] {
        let whole = [high, low].flatMap { half in
            (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
        }
        return isV4 ? Array(whole.suffix(4)) : whole
    }

    package var isV4: Bool { high == 0 && low >> 32 == 0xffff }

    /// It leads to this machine: 127.0.0.0/8 (RFC 1122 section 3.2.1.3) or ::1.
    package var isLoopback: Bool { isV4 ? low >> 24 & 0xff == 127 : high == 0 && low == 1 }

    /// True for the name or address of a host that is always this machine.
    package static func isLoopback(host: String) -> Bool {
        IPAddress(host)?.isLoopback ?? (host == "localhost")
    }

    /// An IPv4 address is printed as IPv4.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let room = socklen_t(text.count)
        if isV4 {
            var v4 = UInt32(truncatingIfNeeded: low).bigEndian
            _ = inet_ntop(AF_INET, &v4, &text, room)
        } else {
            var v6 = [high.bigEndian, low.bigEndian]
            _ = inet_ntop(AF_INET6, &v6, &text, room)
        }
        return String(
            decoding: text.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:)),
            as: UTF8.self
        )
    }

    /// The unit for limits: an IPv4 address, or the /64 of an IPv6 address. A /64 is the smallest
    /// network an IPv6 customer gets, and its owner can use every address in it.
    package var neighbourhood: Neighbourhood {
        isV4 ? Neighbourhood(self) : Neighbourhood(IPAddress(v6: high, 0))
    }

    /// Keeps the first bits of the 128 and clears the others.
    func prefix(bits: Int) -> IPAddress {
        IPAddress(
            v6: bits >= 64 ? high : high & ~(UInt64.max >> UInt64(bits)),
            bits <= 64 ? 0 : bits >= 128 ? low : low & ~(UInt64.max >> UInt64(bits - 64))
        )
    }
}

/// The part of an address that limits count by.
package struct Neighbourhood: Hashable, Sendable {
    private let network: IPAddress

    fileprivate init(_ network: IPAddress) {
        self.network = network
    }
}

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

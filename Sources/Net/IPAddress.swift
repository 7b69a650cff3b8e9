import Glibc

/// An address of a machine, of either family. A v4 address is the same whatever it came through: it is kept as v6
/// writes it (RFC 4291 section 2.5.5.2).
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The 16 bytes, as the network has them.
    private let high: UInt64
    private let low: UInt64

    private static let mappedV4: UInt64 = 0xffff << 32

    package init(v4 address: UInt32) {
        high = 0
        low = Self.mappedV4 | UInt64(address)
    }

    /// From its two halves, the first bytes first.
    package init(v6 high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads "192.0.2.1" or "2001:db8::1", and nothing that has a port, a zone or brackets.
    package init?(_ text: some Collection<UInt8>) {
        // No address is longer, and none has a NUL, at which C would stop.
        guard text.count < Int(INET6_ADDRSTRLEN), text.allSatisfy(\.isOfAddress) else { return nil }
        guard
            let address = SocketAddress(host: String(decoding: Array(text), as: UTF8.self), port: 0)
        else { return nil }
        self = address.ip
    }

    package init?(_ text: String) {
        self.init(text.utf8)
    }

    package var isV4: Bool { high == 0 && low >> 32 == 0xffff }

    /// As it is written everywhere here: v4 as v4.
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
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }

    /// Who this is for limits: a v4 address, or the /64 of a v6 address, since that is the smallest network a v6
    /// customer gets and its owner can use every address in it.
    package var neighbourhood: Neighbourhood {
        isV4 ? Neighbourhood(self) : Neighbourhood(IPAddress(v6: high, 0))
    }

    /// The first so many of its 128 bits, the others 0.
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

extension UInt8 {
    fileprivate var isOfAddress: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

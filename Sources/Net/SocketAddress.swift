package import CSystem
import Glibc

/// A numeric address and port in the kernel's form.
package struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private var length: socklen_t

    /// Makes room for an address of any family, which the kernel fills in.
    package init() {
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    }

    /// nil unless the host is a numeric IPv4 or IPv6 address.
    package init?(host: String, port: UInt16) {
        self.init()
        var v4 = in_addr()
        var v6 = in6_addr()
        if inet_pton(AF_INET, host, &v4) == 1 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = v4
            store(address)
        } else if inet_pton(AF_INET6, host, &v6) == 1 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = v6
            store(address)
        } else {
            return nil
        }
    }

    private mutating func store<Address>(_ address: Address) {
        withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.storeBytes(of: address, as: Address.self)
        }
        length = socklen_t(MemoryLayout<Address>.size)
    }

    package var family: CInt { CInt(storage.ss_family) }

    /// Passes the address to a call that reads it.
    package func withPointer<Result>(
        _ body: (UnsafePointer<sockaddr>, UInt32) -> Result
    ) -> Result {
        withUnsafeBytes(of: storage) { bytes in
            body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
        }
    }

    /// Passes the room to a call that writes an address.
    package mutating func filled<Result>(
        by body: (UnsafeMutablePointer<sockaddr_storage>, UnsafeMutablePointer<UInt32>) -> Result
    ) -> Result {
        body(&storage, &length)
    }

    package var port: UInt16 {
        // The port is at the same offset in both families.
        withUnsafeBytes(of: storage) { bytes in
            UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }

    /// "192.0.2.1" or "2001:db8::1"; an IPv4 address on an IPv6 socket is written as IPv4.
    package var host: String { ip.description }

    /// The address without its port.
    package var ip: IPAddress {
        withUnsafeBytes(of: storage) { IPAddress(at: $0.baseAddress!) ?? IPAddress(v6: 0, 0) }
    }

    package var neighbourhood: Neighbourhood { ip.neighbourhood }
}

extension IPAddress {
    /// Reads the address in a `sockaddr`. Returns nil if it is neither IPv4 nor IPv6.
    init?(at place: UnsafeRawPointer) {
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            Number(bigEndian: place.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
        switch CInt(place.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: self.init(v4: number(4, UInt32.self))
        case AF_INET6: self.init(v6: number(8, UInt64.self), number(16, UInt64.self))
        default: return nil
        }
    }
}

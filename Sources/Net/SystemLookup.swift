import CSystem
import Glibc
import System

/// The system's own resolution, on threads of its own: `getaddrinfo` cannot be interrupted and may
/// hang for as long as a broken resolver lets it.
package final class SystemLookup: Sendable {
    /// Threads that hang, before no more are started.
    private static let threadsMax = 4

    private let running = Locked(0)

    package init() {}

    /// Calls back on the lookup's thread, nil for no address. False if too many lookups hang.
    package func begin(
        _ host: String,
        whenDone: @escaping @Sendable ([IPAddress]?) -> Void
    ) -> Bool {
        let mayRun = running.withLock { count in
            guard count < Self.threadsMax else { return false }
            count += 1
            return true
        }
        guard mayRun else { return false }
        let worker = try? Worker("lookup") { [running] in
            let addresses = Self.addresses(of: host)
            running.withLock { $0 -= 1 }
            whenDone(addresses)
        }
        guard let worker else {
            running.withLock { $0 -= 1 }
            return false
        }
        worker.leave()
        return true
    }

    /// In the order that the system prefers (RFC 6724).
    static func addresses(of host: String) -> [IPAddress]? {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var found: [IPAddress] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr.flatMap(Self.address), !found.contains(address) {
                found.append(address)
            }
            next = entry.pointee.ai_next
        }
        return found.isEmpty ? nil : found
    }

    static func address(_ raw: UnsafeMutablePointer<sockaddr>) -> IPAddress? {
        switch CInt(raw.pointee.sa_family) {
        case AF_INET:
            raw.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                IPAddress(v4: UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            raw.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { place in
                withUnsafeBytes(of: place.pointee.sin6_addr) { bytes in
                    IPAddress(
                        v6: UInt64(bigEndian: bytes.load(as: UInt64.self)),
                        UInt64(bigEndian: bytes.load(fromByteOffset: 8, as: UInt64.self))
                    )
                }
            }
        default: nil
        }
    }
}

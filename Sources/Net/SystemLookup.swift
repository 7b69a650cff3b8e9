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
            let address = entry.pointee.ai_addr.flatMap { IPAddress(at: $0) }
            if let address, !found.contains(address) { found.append(address) }
            next = entry.pointee.ai_next
        }
        return found.isEmpty ? nil : found
    }
}

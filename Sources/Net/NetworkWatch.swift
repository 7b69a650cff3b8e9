import CSystem
import Glibc
package import System

/// Hears from the kernel that addresses or routes of this machine change.
package final class NetworkWatch: Sendable {
    private let socket: OwnedDescriptor
    private let fingerprint: @Sendable () -> Set<String>?
    private let last: Locked<Set<String>?>

    package convenience init() throws(SystemError) {
        let socket = try system("socket") { sluice_open_network_watch() }
        self.init(
            taking: OwnedDescriptor(taking: socket),
            fingerprint: { NetworkWatch.addressesAndRoutes() }
        )
    }

    /// A socket that does not block; each message on it is a change. Without a fingerprint of the
    /// network each change makes a difference.
    package init(
        taking socket: consuming OwnedDescriptor,
        fingerprint: @escaping @Sendable () -> Set<String>? = { nil }
    ) {
        self.socket = socket
        self.fingerprint = fingerprint
        last = Locked(fingerprint())
    }

    /// Readable after a change.
    package var descriptor: CInt { socket.number }

    /// True if something has changed since the last call, a gap in the messages (ENOBUFS) included.
    package func takeChange() -> Bool {
        var hasChanged = false
        withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { buffer in
            while true {
                let count = recv(socket.number, buffer.baseAddress, buffer.count, 0)
                if count < 0, errno == EINTR { continue }
                guard count > 0 || count < 0 && errno == ENOBUFS else { return }
                hasChanged = true
            }
        }
        return hasChanged
    }

    /// False if the network is as it was at the last call: the kernel also tells of renewed
    /// lifetimes, and of the interfaces of containers.
    package func takeDifference() -> Bool {
        let new = fingerprint()
        let former = last.withLock { last in
            let former = last
            last = new
            return former
        }
        return new == nil || new != former
    }

    /// The addresses by which others reach this machine, and its default routes.
    static func addressesAndRoutes() -> Set<String>? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        var found: Set<String> = []
        var next = first
        while let entry = next {
            let address = entry.pointee.ifa_addr.flatMap { IPAddress(at: $0) }
            if let address, !address.isLoopback, !isLinkLocal(address) {
                found.insert(address.description)
            }
            next = entry.pointee.ifa_next
        }
        // Interface, gateway and metric; other columns count uses.
        found.formUnion(defaultRoutes("/proc/net/route", [1, 7], of: [0, 2, 6]))
        found.formUnion(defaultRoutes("/proc/net/ipv6_route", [0, 1], of: [4, 5, 9]))
        return found
    }

    /// 169.254.0.0/16 and fe80::/10.
    private static func isLinkLocal(_ address: IPAddress) -> Bool {
        let bytes = address.bytes
        return address.isV4
            ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
    }

    /// Some columns of the lines that have zeros only in other columns.
    private static func defaultRoutes(
        _ path: String,
        _ zeros: [Int],
        of columns: [Int]
    ) -> [String] {
        // Without IPv6 there is no such file.
        let content = (try? fileContent(path, bytesMax: 16 << 20)) ?? []
        return content.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard words.count > 9 else { return nil }
            let isDefault = zeros.allSatisfy { column in
                words[column].allSatisfy { $0 == UInt8(ascii: "0") }
            }
            guard isDefault else { return nil }
            let text = columns.map { String(decoding: words[$0], as: UTF8.self) }
            return text.joined(separator: " ")
        }
    }
}

import CSystem
import Glibc
package import System

/// An address to listen on: a numeric host and a port, as written in a configuration.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// "127.0.0.1" or "::1", without brackets.
    package let host: String
    /// 0 lets the kernel choose a free port.
    package let port: UInt16
    /// Listens on every address: one socket for both families, or IPv4 alone without IPv6.
    package let isEverywhere: Bool
}

extension ListenAddress {
    package init(host: String, port: UInt16) {
        self.init(host: host, port: port, isEverywhere: false)
    }

    package static func everywhere(port: UInt16) -> ListenAddress {
        ListenAddress(host: "::", port: port, isEverywhere: true)
    }

    /// The same port on every IPv4 address.
    var withoutIPv6: ListenAddress { ListenAddress(host: "0.0.0.0", port: port) }

    /// Parses "0.0.0.0:8080", "[::1]:80", "localhost:80", or ":8080" and "[::]:8080" (everywhere).
    package init(parsing text: String) throws(ListenAddressError) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            throw ListenAddressError(text: text, reason: "the port is missing")
        }
        let digits = text[text.index(after: colon)...]
        guard
            !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(digits)
        else {
            throw ListenAddressError(text: text, reason: "the port is not a number up to 65535")
        }
        let name = text[..<colon]
        guard !name.isEmpty else {
            self = .everywhere(port: port)
            return
        }
        let host = try Self.host(named: name, in: text)
        self.init(host: host, port: port, isEverywhere: host == "::")
    }

    private static func host(
        named name: Substring,
        in text: String
    ) throws(ListenAddressError) -> String {
        if name == "localhost" { return "127.0.0.1" }
        if name.first == "[", name.last == "]" {
            let inner = String(name.dropFirst().dropLast())
            // Normalises "[0::0]" to "[::]", and a mapped IPv4 address to IPv4.
            if inner.contains(":"), let address = SocketAddress(host: inner, port: 0) {
                return address.host
            }
            throw ListenAddressError(text: text, reason: "[\(inner)] is not an IPv6 address")
        }
        if name.contains(":") {
            throw ListenAddressError(text: text, reason: "an IPv6 address needs brackets")
        }
        guard SocketAddress(host: String(name), port: 0) != nil else {
            throw ListenAddressError(text: text, reason: "\"\(name)\" is not a numeric address")
        }
        return String(name)
    }

    /// "127.0.0.1:8080" or "[::1]:8080"
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

package struct ListenAddressError: Error, Equatable, CustomStringConvertible {
    package let text: String
    package let reason: String

    package var description: String {
        "\"\(text)\" is not an address to listen on: \(reason);"
            + " write it like 0.0.0.0:8080, [::1]:8080 or :8080"
    }
}

/// Why a server cannot listen, and the remedy.
package enum ListenError: Error, Equatable, CustomStringConvertible {
    case taken(ListenAddress)
    case notPermitted(ListenAddress)
    case noSuchAddress(ListenAddress)
    case noIPv6(ListenAddress)
    case system(ListenAddress, SystemError)

    /// The kernel has no IPv6 or no IPv6 address to bind, as in sandboxes and containers.
    var saysNoIPv6: Bool {
        switch self {
        case .noIPv6, .noSuchAddress: true
        case .taken, .notPermitted, .system: false
        }
    }

    package var description: String {
        switch self {
        case .taken(let address):
            "cannot listen on \(address): the port is taken;"
                + " stop the process that holds it (ss -ltnp) or listen on another port"
        case .notPermitted(let address):
            "cannot listen on \(address): not permitted;"
                + " use a port above 1023 or grant the capability CAP_NET_BIND_SERVICE"
        case .noSuchAddress(let address):
            "cannot listen on \(address): this machine has no such address;"
                + " use one of its own (ip addr), 0.0.0.0 or [::]"
        case .noIPv6(let address):
            "cannot listen on \(address): this kernel has no IPv6;"
                + " listen on :\(address.port), which means all existing addresses, or on 0.0.0.0"
        case .system(let address, let error):
            "cannot listen on \(address): \(error)"
        }
    }
}

/// A bound, listening, non-blocking TCP socket.
///
/// Several loops listen on one port, each with its own socket (`SO_REUSEPORT`), and the kernel
/// spreads connections over them. That needs no lock and no hand-over between threads.
package final class Listener: Sendable {
    private let socket: OwnedDescriptor
    /// Holds the port that the kernel chose, if 0 was requested.
    package let address: ListenAddress
    /// A service manager opened it and keeps it open: one socket for all loops, which outlives the
    /// process.
    package let isPassed: Bool

    /// Binds an address that no other process uses.
    package convenience init(_ address: ListenAddress) throws(ListenError) {
        try self.init(address, calls: .kernel)
    }

    /// With a test's calls in place of the kernel's.
    convenience init(_ address: ListenAddress, calls: ListenerCalls) throws(ListenError) {
        do throws(ListenError) {
            try self.init(address, isFirst: true, calls)
        } catch {
            guard address.isEverywhere, error.saysNoIPv6 else { throw error }
            try self.init(address.withoutIPv6, isFirst: true, calls)
        }
    }

    /// Opens another socket on the first one's address.
    package convenience init(joining first: Listener) throws(ListenError) {
        try self.init(first.address, isFirst: false, .kernel)
    }

    /// Takes over a socket that listens already, and closes it if it does not.
    init(passed number: CInt) throws(SystemError) {
        guard fcntl(number, F_GETFD) >= 0 else { throw SystemError(call: "fcntl", code: EBADF) }
        let socket = OwnedDescriptor(taking: number)
        guard
            try option(SO_ACCEPTCONN, of: number) == 1,
            try option(SO_PROTOCOL, of: number) == IPPROTO_TCP
        else { throw SystemError(call: "listen", code: EPROTOTYPE) }
        _ = try system("fcntl") { fcntl(number, F_SETFD, FD_CLOEXEC) }
        _ = try system("fcntl") { fcntl(number, F_SETFL, O_NONBLOCK | fcntl(number, F_GETFL)) }
        try enable(CInt(IPPROTO_TCP), TCP_NODELAY, on: number)
        let bound = try Self.address(of: number)
        isPassed = true
        address = ListenAddress(host: bound.host, port: bound.port)
        self.socket = socket
    }

    private static func address(of number: CInt) throws(SystemError) -> SocketAddress {
        var bound = SocketAddress()
        _ = try system("getsockname") {
            bound.filled { storage, length in
                storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getsockname(number, $0, length)
                }
            }
        }
        return bound
    }

    private static let backlog: CInt = 4096

    private init(
        _ address: ListenAddress,
        isFirst: Bool,
        _ calls: ListenerCalls
    ) throws(ListenError) {
        guard let target = SocketAddress(host: address.host, port: address.port) else {
            throw .noSuchAddress(address)
        }
        do throws(SystemError) {
            let socket = OwnedDescriptor(
                taking: try system("socket") {
                    calls.socket(
                        target.family,
                        CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
                    )
                }
            )
            let number = socket.number
            // Without it, a restart would wait for old connections in TIME_WAIT.
            try enable(SOL_SOCKET, SO_REUSEADDR, on: number)
            // Accepted sockets inherit it. Answers are written whole, so Nagle could only delay.
            try enable(CInt(IPPROTO_TCP), TCP_NODELAY, on: number)
            // "[::]:8080" means every address, IPv4 included, whatever net.ipv6.bindv6only says.
            if target.family == AF_INET6 {
                try set(CInt(IPPROTO_IPV6), IPV6_V6ONLY, to: 0, on: number)
            }
            // The first socket binds without SO_REUSEPORT: otherwise a second gateway of the same
            // user would silently share the port. Setting the option afterwards lets our other
            // loops join.
            if !isFirst { try enable(SOL_SOCKET, SO_REUSEPORT, on: number) }
            _ = try system("bind") { target.withPointer { calls.bind(number, $0, $1) } }
            if isFirst { try enable(SOL_SOCKET, SO_REUSEPORT, on: number) }
            _ = try system("listen") { listen(number, Self.backlog) }
            let port = try Self.address(of: number).port
            isPassed = false
            self.socket = socket
            self.address = ListenAddress(host: address.host, port: port)
        } catch {
            switch error.code {
            case EADDRINUSE: throw .taken(address)
            case EACCES, EPERM: throw .notPermitted(address)
            case EADDRNOTAVAIL: throw .noSuchAddress(address)
            case EAFNOSUPPORT,
                EPROTONOSUPPORT where target.family == AF_INET6:
                throw .noIPv6(address)
            default: throw .system(address, error)
            }
        }
    }

    package var descriptor: CInt { socket.number }

    /// Stops accepting, even while others still refer to the listener. On Linux, shutdown takes a
    /// listening socket out of service at once; the descriptor closes with the last reference.
    package func stopListening() {
        // The next process accepts from this socket's backlog.
        guard !isPassed else { return }
        _ = shutdown(socket.number, CInt(SHUT_RD))
    }

    package enum Accepted: ~Copyable {
        case connection(OwnedDescriptor, from: SocketAddress)
        case noneWaiting
        /// Usually no descriptor or memory is left; wait before the next try.
        case exhausted(SystemError)
    }

    package func accept() -> Accepted {
        while true {
            var peer = SocketAddress()
            let number = peer.filled { sluice_accept(socket.number, $0, $1) }
            if number >= 0 {
                return .connection(OwnedDescriptor(taking: number), from: peer)
            }
            let code = errno
            switch code {
            case EAGAIN: return .noneWaiting
            // accept(2) reports errors of a new connection, which is gone then; take the next.
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
                EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, EPERM, ETIMEDOUT, ECONNRESET:
                continue
            default: return .exhausted(SystemError(call: "accept4", code: code))
            }
        }
    }
}

/// The system calls that show if the kernel has IPv6.
struct ListenerCalls: Sendable {
    var socket: @Sendable (_ family: CInt, _ type: CInt) -> CInt
    var bind: @Sendable (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt

    static let kernel = ListenerCalls(
        socket: { Glibc.socket($0, $1, 0) },
        bind: { Glibc.bind($0, $1, $2) }
    )
}

private func enable(_ level: CInt, _ option: CInt, on socket: CInt) throws(SystemError) {
    try set(level, option, to: 1, on: socket)
}

private func option(_ option: CInt, of socket: CInt) throws(SystemError) -> CInt {
    var value: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    _ = try system("getsockopt") { getsockopt(socket, SOL_SOCKET, option, &value, &size) }
    return value
}

private func set(
    _ level: CInt,
    _ option: CInt,
    to value: CInt,
    on socket: CInt
) throws(SystemError) {
    var value = value
    _ = try system("setsockopt") {
        setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }
}

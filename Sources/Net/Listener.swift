import CSystem
import Glibc
package import System

/// A bound, listening, non-blocking TCP socket.
///
/// Several loops listen on one port, each with a socket of its own (`SO_REUSEPORT`), and the kernel
/// spreads connections over them: no lock and no hand-over between threads.
package final class Listener: Sendable {
    private let socket: OwnedDescriptor
    /// With the port that the kernel chose if 0 was asked for.
    package let address: ListenAddress

    /// Binds an address that nobody else has.
    package convenience init(
        _ address: ListenAddress,
        backlog: Int = 4096
    ) throws(ListenError) {
        try self.init(address, backlog: backlog, calls: .kernel)
    }

    /// With calls of a test in place of the kernel's.
    convenience init(
        _ address: ListenAddress,
        backlog: Int = 4096,
        calls: ListenerCalls
    ) throws(ListenError) {
        do throws(ListenError) {
            try self.init(address, backlog: backlog, isFirst: true, calls)
        } catch {
            guard address.isEverywhere, error.saysNoIPv6 else { throw error }
            try self.init(address.withoutIPv6, backlog: backlog, isFirst: true, calls)
        }
    }

    /// Another socket on the address of the first one.
    package convenience init(
        joining first: Listener,
        backlog: Int = 4096
    ) throws(ListenError) {
        try self.init(first.address, backlog: backlog, isFirst: false, .kernel)
    }

    private init(
        _ address: ListenAddress,
        backlog: Int,
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
            // A restart must not wait for the old connections' TIME_WAIT.
            try enable(SOL_SOCKET, SO_REUSEADDR, on: number)
            // Accepted sockets inherit it; answers are written whole, so Nagle could only delay them.
            try enable(CInt(IPPROTO_TCP), TCP_NODELAY, on: number)
            // "[::]:8080" means every address of the machine, v4 too, whatever net.ipv6.bindv6only says.
            if target.family == AF_INET6 {
                try set(CInt(IPPROTO_IPV6), IPV6_V6ONLY, to: 0, on: number)
            }
            // The first socket binds without SO_REUSEPORT: otherwise a second gateway of the same
            // user would share the port silently. Set afterwards, it lets our other loops in.
            if !isFirst { try enable(SOL_SOCKET, SO_REUSEPORT, on: number) }
            _ = try system("bind") { target.withPointer { calls.bind(number, $0, $1) } }
            if isFirst { try enable(SOL_SOCKET, SO_REUSEPORT, on: number) }
            _ = try system("listen") { listen(number, CInt(clamping: backlog)) }
            var bound = SocketAddress()
            _ = try system("getsockname") {
                bound.filled { storage, length in
                    storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        getsockname(number, $0, length)
                    }
                }
            }
            self.socket = socket
            self.address = ListenAddress(host: address.host, port: bound.port)
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

    /// Lets nobody in any more, whoever still refers to the listener. On Linux this takes a listening
    /// socket out of service at once; the descriptor goes with the last reference.
    package func stopListening() {
        _ = shutdown(socket.number, CInt(SHUT_RD))
    }

    package enum Accepted: ~Copyable {
        case connection(Socket, from: SocketAddress)
        case nobody
        /// No descriptor or memory is left, most likely: wait before the next try.
        case exhausted(SystemError)
    }

    package func accept() -> Accepted {
        while true {
            var peer = SocketAddress()
            let number = peer.filled { sluice_accept(socket.number, $0, $1) }
            if number >= 0 {
                return .connection(Socket(OwnedDescriptor(taking: number)), from: peer)
            }
            let code = errno
            switch code {
            case EAGAIN: return .nobody
            // accept(2): errors already pending on the new connection. It is gone; take the next.
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET,
                EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, EPERM, ETIMEDOUT, ECONNRESET:
                continue
            default: return .exhausted(SystemError(call: "accept4", code: code))
            }
        }
    }
}

/// The calls that tell whether the kernel has IPv6.
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

import CSystem
import Glibc
package import System

/// Owns one TCP connection of ours to a server, plain or with TLS. No call blocks, except `wait`.
package struct OutboundSocket: ~Copyable {
    private let descriptor: OwnedDescriptor
    private var tls: OutboundTLSSession?

    /// Begins to connect. `checkConnected` tells the result once the socket is writable.
    package init(to address: SocketAddress) throws(SystemError) {
        let kind =
            CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let number = try system("socket") { socket(address.family, kind, 0) }
        let owned = OwnedDescriptor(taking: number)
        var on: CInt = 1
        setsockopt(number, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        let result = address.withPointer { connect(number, $0, $1) }
        let code = errno
        guard result == 0 || code == EINPROGRESS || code == EINTR else {
            throw SystemError(call: "connect", code: code)
        }
        descriptor = owned
        tls = nil
    }

    package func checkConnected() throws(SystemError) {
        var code: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        _ = try system("getsockopt") {
            getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &code, &size)
        }
        guard code == 0 else { throw SystemError(call: "connect", code: code) }
    }

    /// Turns on TLS: data is encrypted once `handshake` is done. `host` is the name or address that
    /// the server's certificate must have.
    package mutating func secure(_ settings: OutboundTLS, host: String) throws(TLSError) {
        tls = try OutboundTLSSession(settings, host: host, over: descriptor.number)
    }

    /// Continues the handshake. A plain connection needs none.
    package func handshake() throws(HandshakeError) -> HandshakeProgress {
        switch tls {
        case .some(let session): try session.handshake()
        case .none: .done
        }
    }

    /// `.done(0)`: the server has ended the connection.
    package func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.receive(into: room)
        case .none:
            try attempt("recv") { recv(descriptor.number, room.baseAddress, room.count, 0) }
        }
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.send(bytes)
        case .none:
            try attempt("send") {
                Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    /// OpenSSL's reason for the last failure, if it has one; it is told once.
    package func takeTLSReason() -> String? {
        switch tls {
        case .some: TLSReason.taken()
        case .none: nil
        }
    }

    /// Sleeps until the socket is ready, `wake` is readable, or the timeout. True if the socket is
    /// ready, or has failed.
    package func wait(
        for wish: Wish,
        or wake: WakeUp,
        timeout: Duration
    ) throws(SystemError) -> Bool {
        var entries = [
            pollfd(fd: descriptor.number, events: wish.events, revents: 0),
            pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let milliseconds = CInt(clamping: max(0, timeout.milliseconds))
        _ = try system("poll") { poll(&entries, nfds_t(entries.count), milliseconds) }
        return entries[0].revents != 0
    }

    package enum Wish: Sendable {
        case read, write, readOrWrite

        fileprivate var events: Int16 {
            switch self {
            case .read: Int16(POLLIN)
            case .write: Int16(POLLOUT)
            case .readOrWrite: Int16(POLLIN | POLLOUT)
            }
        }
    }
}

package enum HandshakeProgress: Equatable, Sendable {
    case done, wantsToRead, wantsToWrite
}

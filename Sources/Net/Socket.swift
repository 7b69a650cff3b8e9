import CSystem
import Glibc
package import System

/// Owns one accepted, non-blocking TCP connection.
package struct Socket: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor
    /// nil for plain connections, which then pay one comparison a call.
    private var tls: TLSSession?

    package init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
        tls = nil
    }

    // close_notify goes out before the descriptor closes.
    deinit { tls?.finish() }

    package var number: CInt { descriptor.number }

    /// Turns on TLS, which encrypts once `handshake` is done. False when memory is short.
    package mutating func secure(with context: TLSContext) -> Bool {
        tls = TLSSession(context, over: descriptor.number)
        return isSecure
    }

    package var isSecure: Bool { tls != nil }

    /// TLS memory of this client beyond what every TLS connection holds.
    package var heldBytes: Int { tls?.heldBytes() ?? 0 }

    /// Continues the handshake; true when it is done. A plain connection needs none.
    package func handshake() throws(HandshakeError) -> Bool {
        try tls?.handshake() ?? true
    }

    /// True if the client resumed an earlier TLS session.
    package var isResumed: Bool { tls?.isResumed() ?? false }

    /// The client's identity, if it has shown a certificate.
    package var clientCertificate: ClientCertificate? { tls?.clientCertificate() ?? nil }

    /// True if the rules that admitted the client have changed since.
    package var isOutdated: Bool { tls?.isOutdated() ?? false }

    /// `.done(0)` is the client's FIN.
    package func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.receive(into: room)
        case .none:
            try attempt("recv") { recv(descriptor.number, room.baseAddress, room.count, 0) }
        }
    }

    /// Like a plain `receive`, but leaves the bytes in the socket; for bytes before TLS begins.
    package func peek(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        try attempt("recv") {
            recv(descriptor.number, room.baseAddress, room.count, CInt(MSG_PEEK))
        }
    }

    /// Consumes as many peeked bytes as there is room.
    package func skip(into room: UnsafeMutableRawBufferPointer) {
        _ = recv(descriptor.number, room.baseAddress, room.count, 0)
    }

    /// True if a `receive` of `count` bytes into `room` left nothing to read until the next event.
    package func isEmptied(by count: Int, of room: Int) -> Bool {
        tls?.isEmptied() ?? (count < room)
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.send(bytes)
        case .none:
            try attempt("send") {
                // A closed connection must be an error value, never a SIGPIPE.
                Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    /// Bytes that the kernel has queued and the peer has not acknowledged.
    package var unacknowledgedBytes: Int {
        var count: CInt = 0
        return ioctl(descriptor.number, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    /// Sends past a TLS session that never begins.
    package func sendPlainly(_ bytes: UnsafeRawBufferPointer) {
        _ = Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
    }

    /// Ends TLS without close_notify, so that the client sees a truncated answer.
    package func breakOff() { tls?.giveUp() }

    /// Makes the close send RST and drop unsent bytes (SO_LINGER with time 0).
    package func resetWhenClosed() {
        tls?.giveUp()
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: linger))
        _ = setsockopt(descriptor.number, SOL_SOCKET, SO_LINGER, &linger, size)
    }

    /// Sends FIN; the client's further bytes can still be received.
    package func finishWriting() {
        tls?.finish()
        _ = shutdown(descriptor.number, CInt(SHUT_WR))
    }
}

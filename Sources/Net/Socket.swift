import CSystem
import Glibc
package import System

/// One accepted TCP connection, non-blocking, owned.
package struct Socket: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor
    /// Nil for plain connections: it costs them one comparison a call.
    private var tls: TLSSession?

    package init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
        tls = nil
    }

    // Before the descriptor is closed.
    deinit { tls?.finish() }

    package var number: CInt { descriptor.number }

    /// From now on what is received and sent is encrypted, once `handshake` has come to its end. False
    /// without memory.
    package mutating func secure(with context: TLSContext) -> Bool {
        tls = TLSSession(context, over: descriptor.number)
        return isSecure
    }

    package var isSecure: Bool {
        switch tls {
        case .some: true
        case .none: false
        }
    }

    /// What TLS holds for the client beyond what it holds for every connection.
    package var heldBytes: Int {
        switch tls {
        case .some(let session): session.heldBytes
        case .none: 0
        }
    }

    /// Goes on with the handshake; true when it is done. A plain connection has none.
    package func handshake() throws(HandshakeError) -> Bool {
        try tls?.handshake() ?? true
    }

    /// Whether the client has come back with what it had agreed on before.
    package var isResumed: Bool {
        switch tls {
        case .some(let session): session.isResumed
        case .none: false
        }
    }

    /// Who the client is, if it has shown a certificate.
    package var clientCertificate: ClientCertificate? {
        switch tls {
        case .some(let session): session.clientCertificate
        case .none: nil
        }
    }

    /// Whether the client was let in by rules that are in force no more.
    package var isOutdated: Bool {
        switch tls {
        case .some(let session): session.isOutdated
        case .none: false
        }
    }

    /// `.done(0)` is the client's FIN.
    package func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.receive(into: room)
        case .none:
            try attempt("recv") { recv(descriptor.number, room.baseAddress, room.count, 0) }
        }
    }

    /// What a plain `receive` would give, and leaves it there: what comes before TLS begins.
    package func peek(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        try attempt("recv") {
            recv(descriptor.number, room.baseAddress, room.count, CInt(MSG_PEEK))
        }
    }

    /// Takes so much of what `peek` has given as there is room.
    package func skip(into room: UnsafeMutableRawBufferPointer) {
        _ = recv(descriptor.number, room.baseAddress, room.count, 0)
    }

    /// Whether a `receive` that gave so much of its room has left nothing until the next event.
    package func isEmptied(by count: Int, of room: Int) -> Bool {
        switch tls {
        case .some(let session): session.isEmptied
        case .none: count < room
        }
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        switch tls {
        case .some(let session): try session.send(bytes)
        case .none:
            try attempt("send") {
                // A client that has gone is an error value here, never a SIGPIPE.
                Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
        }
    }

    /// Bytes that the kernel has to send and the other side has not acknowledged: what it was not ready to take.
    package var unacknowledgedBytes: Int {
        var count: CInt = 0
        return ioctl(descriptor.number, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    /// As `send`, past a TLS session that has not begun and never will.
    package func sendPlainly(_ bytes: UnsafeRawBufferPointer) {
        _ = Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
    }

    /// Nothing tells the client that what it has is all: TLS ends without close_notify.
    package func breakOff() { tls?.giveUp() }

    /// Closing will send RST and drop what is not sent yet (SO_LINGER with no time).
    package func resetWhenClosed() {
        tls?.giveUp()
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: linger))
        _ = setsockopt(descriptor.number, SOL_SOCKET, SO_LINGER, &linger, size)
    }

    /// Sends FIN; what the client still sends can be received.
    package func finishWriting() {
        tls?.finish()
        _ = shutdown(descriptor.number, CInt(SHUT_WR))
    }
}

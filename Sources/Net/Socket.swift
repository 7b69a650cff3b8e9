import CSystem
import Glibc
package import System

/// One accepted TCP connection, non-blocking, owned.
package struct Socket: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    package init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
    }

    package var number: CInt { descriptor.number }

    /// `.done(0)` is the client's FIN.
    package func receive(into room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Outcome {
        try attempt("recv") { recv(descriptor.number, room.baseAddress, room.count, 0) }
    }

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Outcome {
        try attempt("send") {
            // A client that has gone is an error value here, never a SIGPIPE.
            Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        }
    }

    /// Closing will send RST and drop what is not sent yet (SO_LINGER with no time).
    package func resetWhenClosed() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: linger))
        _ = setsockopt(descriptor.number, SOL_SOCKET, SO_LINGER, &linger, size)
    }

    /// Sends FIN; what the client still sends can be received.
    package func finishWriting() {
        _ = shutdown(descriptor.number, CInt(SHUT_WR))
    }
}

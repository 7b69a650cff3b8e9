import CSystem
import Glibc
package import System

/// Hears from the kernel that addresses or routes of this machine change.
package final class NetworkWatch: Sendable {
    private let socket: OwnedDescriptor

    package convenience init() throws(SystemError) {
        let socket = try system("socket") { sluice_open_network_watch() }
        self.init(taking: OwnedDescriptor(taking: socket))
    }

    /// A socket that does not block; each message on it is a change.
    package init(taking socket: consuming OwnedDescriptor) {
        self.socket = socket
    }

    /// Readable after a change.
    package var descriptor: CInt { socket.number }

    /// True if something has changed since the last call. A gap in the messages (ENOBUFS) is a change, too.
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
}

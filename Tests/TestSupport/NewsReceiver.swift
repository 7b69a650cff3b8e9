import Glibc
import System

/// The socket of a service manager, which takes a program's news.
package final class NewsReceiver {
    private let socket: OwnedDescriptor

    /// A path, or "@" and a name in the abstract namespace.
    package init(_ name: String) throws {
        socket = OwnedDescriptor(
            taking: try system("socket") { Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0) }
        )
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(name.utf8)
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let number = socket.number
        _ = try system("bind") {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(number, $0, length)
                }
            }
        }
    }

    /// Waits for the next message.
    package func next() -> String {
        var room = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket.number, &room, room.count, 0)
        return String(decoding: room.prefix(max(0, count)), as: UTF8.self)
    }

    /// nil: no message waits.
    package var waiting: String? {
        var room = [UInt8](repeating: 0, count: 4096)
        let count = recv(socket.number, &room, room.count, CInt(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: room.prefix(count), as: UTF8.self)
    }
}

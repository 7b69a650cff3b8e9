import Glibc
import System

/// Talks to the sandbox's control API: one request on a connection of its own.
struct ControlClient {
    let port: Int

    /// The answer, head and body.
    func send(_ method: String, _ path: String, _ body: String = "") throws -> String {
        let descriptor = OwnedDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw SystemError(call: "connect", code: errno) }
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        _ = Array(request.utf8).withUnsafeBytes {
            Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor.number, &piece, piece.count, 0)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += piece[..<count]
        }
    }
}

import Foundation

/// A blocking HTTP client that says exactly what happened on the wire.
struct Client: ~Copyable {
    private let socket: CInt

    /// Fails when nobody listens.
    init?(port: UInt16) {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(socket, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard connected else {
            close(socket)
            return nil
        }
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            socket,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        self.socket = socket
    }

    deinit { close(socket) }

    struct Answer {
        let status: Int
        let head: String
        let body: String
    }

    /// Nil when the connection ended before a whole answer came.
    func send(_ method: String, _ path: String, fields: [String] = [], body: String = "")
        -> Answer?
    {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(body.utf8.count)"]
            + fields
        let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return nil }
            sent += count
        }
        return receive()
    }

    private func receive() -> Answer? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let answer = parse(bytes) { return answer }
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
    }

    private func parse(_ bytes: [UInt8]) -> Answer? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let head = String(text[..<end.lowerBound])
        let length =
            head.split(separator: "\r\n")
            .first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.split(separator: ":")[1].drop { $0 == " " }) } ?? 0
        let body = String(text[end.upperBound...])
        guard body.utf8.count >= length,
            let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return Answer(status: status, head: head, body: body)
    }
}

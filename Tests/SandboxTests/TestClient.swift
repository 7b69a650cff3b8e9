import Glibc
import JSON
import Net
import Testing

@testable import Sandbox

/// A blocking client that sees answers as they are on the wire, also broken ones.
final class TestClient {
    struct Answer {
        var status = 0
        var fields: [String: String] = [:]
        var body: [UInt8] = []

        var text: String { String(decoding: body, as: UTF8.self) }
        var json: JSONValue? { try? JSONValue(parsing: body) }
    }

    /// How an answer can end before its time.
    enum Broken: Error, Equatable {
        case reset
        /// The connection ended after so many bytes of the body; nil before the head did.
        case cut(Int?)
        case timeout
    }

    private let descriptor: CInt
    private let host: String

    init(_ address: ListenAddress, seconds: Int = 20) throws {
        host = "demo-project.localhost:\(address.port)"
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        var patience = timeval(tv_sec: seconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = address.port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    func get(_ target: String) throws -> Answer { try ask("GET", target) }

    func ask(_ method: String, _ target: String, _ body: String = "") throws -> Answer {
        let length = "content-length: \(body.utf8.count)\r\n"
        send("\(method) \(target) HTTP/1.1\r\nhost: \(host)\r\n\(length)\r\n\(body)")
        return try receive()
    }

    /// A right write to this sandbox, now.
    func put(_ write: TestWrite) throws -> Answer {
        try send(write)
        return try receive()
    }

    func send(_ write: TestWrite) throws {
        var write = write
        write.fields["host"] = host
        let request = try write.signed()
        let target = request.path + (write.query.map { "?" + $0 } ?? "")
        var head = "\(request.method) \(target) HTTP/1.1\r\n"
        for field in request.fields { head += "\(field.name): \(field.value)\r\n" }
        send(Array((head + "\r\n").utf8) + write.body)
    }

    private func send(_ text: String) { send(Array(text.utf8)) }

    private func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    func receive() throws -> Answer {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while bytes.firstRange(of: end) == nil { try fill(&bytes, bodyStart: nil) }
        guard let range = bytes.firstRange(of: end) else { throw Broken.cut(nil) }
        var answer = Answer()
        let lines = String(decoding: bytes[..<range.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")
        answer.status = Int(lines[0].split(separator: " ")[1]) ?? 0
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            answer.fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        let length = Int(answer.fields["content-length"] ?? "0") ?? 0
        while bytes.count < range.upperBound + length {
            try fill(&bytes, bodyStart: range.upperBound)
        }
        answer.body = Array(bytes[range.upperBound..<range.upperBound + length])
        return answer
    }

    private func fill(_ bytes: inout [UInt8], bodyStart: Int?) throws {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        let code = errno
        guard count != 0 else { throw Broken.cut(bodyStart.map { bytes.count - $0 }) }
        guard count > 0 else { throw code == ECONNRESET ? Broken.reset : .timeout }
        bytes += chunk[..<count]
    }
}

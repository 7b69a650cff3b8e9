import JSON
import Net
import TestSupport

@testable import Sandbox

/// A client of the sandbox on one connection, which sees how answers break.
final class SandboxClient {
    /// How an answer can end before its time.
    enum Broken: Error, Equatable {
        case reset
        /// The connection ended after so many bytes of the body; nil before the head did.
        case cut(Int?)
        case timeout
    }

    private let connection: TestConnection
    private let host: String

    init(_ address: ListenAddress, seconds: Int = 20) throws {
        host = "demo-project.localhost:\(address.port)"
        connection = try TestConnection(to: address, seconds: seconds)
    }

    func get(_ target: String) throws -> TestAnswer { try ask("GET", target) }

    func ask(_ method: String, _ target: String, _ body: String = "") throws -> TestAnswer {
        let length = "content-length: \(body.utf8.count)\r\n"
        connection.send("\(method) \(target) HTTP/1.1\r\nhost: \(host)\r\n\(length)\r\n\(body)")
        return try receive()
    }

    /// Sends a right write to this sandbox, now.
    func put(_ write: TestWrite) throws -> TestAnswer {
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
        connection.send(Array((head + "\r\n").utf8) + write.body)
    }

    func receive() throws -> TestAnswer {
        if let answer = connection.answer() { return answer }
        switch connection.ending {
        case .reset: throw Broken.reset
        case .silence: throw Broken.timeout
        case .closed, nil:
            let end = connection.unread.firstRange(of: Array("\r\n\r\n".utf8))
            throw Broken.cut(end.map { connection.unread.count - $0.upperBound })
        }
    }
}

extension TestAnswer {
    var json: JSONValue? { try? JSONValue(parsing: body) }
}

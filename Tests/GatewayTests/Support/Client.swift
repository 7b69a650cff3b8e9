import Glibc
import Net
import System
import TestTLS

/// The smallest HTTP client that shows what really came back.
struct Client {
    struct Answer {
        var status: Int
        /// In the order they came, names as they were written.
        var fields: [(name: String, value: String)]
        var body: [UInt8]

        subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let address: ListenAddress
    /// Which of this machine's addresses it comes from.
    var source = "127.0.0.1"
    /// Nil speaks plain HTTP.
    var tls: ClientTLS.Options?

    struct NoHandshake: Error {}

    func post(
        _ path: String,
        _ body: some Collection<UInt8>,
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> Answer {
        try send("POST", path, Array(body), fields)
    }

    func get(_ path: String, _ fields: KeyValuePairs<String, String> = [:]) throws -> Answer {
        try send("GET", path, [], fields)
    }

    func send(
        _ method: String,
        _ path: String,
        _ body: [UInt8] = [],
        _ fields: KeyValuePairs<String, String> = [:]
    ) throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nconnection: close\r\n"
        if !fields.contains(where: { $0.key == "host" }) { head += "host: gateway.test\r\n" }
        if !fields.contains(where: { $0.key == "content-length" }),
            method == "POST" || !body.isEmpty
        {
            head += "content-length: \(body.count)\r\n"
        }
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        return try exchange(Array((head + "\r\n").utf8) + body)
    }

    /// Sends bytes as they are, and reads until the server closes.
    func exchange(_ request: [UInt8]) throws -> Answer {
        try Answer(parsing: try converse(request))
    }

    /// As `exchange`, for more answers than one.
    func converse(_ request: [UInt8]) throws -> [UInt8] {
        let connection = try open()
        connection.say(request)
        return connection.heard()
    }

    /// A connection that has said so much.
    func opened(saying text: String) throws -> OpenConnection {
        let connection = try open()
        connection.say(Array(text.utf8))
        return connection
    }

    private func open() throws -> OpenConnection {
        let connection = OpenConnection(try connected())
        guard let tls else { return connection }
        return try connection.secured(tls)
    }

    private func connected() throws -> OwnedDescriptor {
        let own = SocketAddress(host: source, port: 0)!
        let socket = OwnedDescriptor(
            taking: try system("socket") {
                Glibc.socket(own.family, CInt(SOCK_STREAM.rawValue), 0)
            }
        )
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            socket.number,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        _ = try system("bind") { own.withPointer { bind(socket.number, $0, $1) } }
        let target = SocketAddress(host: address.host, port: address.port)!
        _ = try system("connect") {
            target.withPointer { connect(socket.number, $0, $1) }
        }
        return socket
    }
}

/// A connection that stays open as long as this value lives.
final class OpenConnection {
    private let socket: OwnedDescriptor

    private(set) var tls: ClientTLS?

    init(_ socket: consuming OwnedDescriptor) {
        self.socket = socket
    }

    func secured(_ options: ClientTLS.Options) throws -> OpenConnection {
        let tls = ClientTLS(options, descriptor: socket.number)
        guard tls.connect() else { throw Client.NoHandshake() }
        self.tls = tls
        return self
    }

    private func receive(_ room: inout [UInt8]) -> Int {
        if let tls { return room.withUnsafeMutableBytes { tls.receive($0) } }
        return recv(socket.number, &room, room.count, 0)
    }

    func say(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                if let tls { return tls.send($0) }
                return Glibc.send(socket.number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            // A server that refuses early stops reading; what it said still counts.
            guard sent > 0 else { break }
            rest = rest.dropFirst(sent)
        }
    }

    private(set) var heardText = ""

    /// Whether such a text comes, now or until the connection ends or is silent for 20 seconds.
    func hears(_ part: String) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while !heardText.contains(part) {
            let count = receive(&chunk)
            guard count > 0 else { return false }
            heardText += String(decoding: chunk[..<count], as: UTF8.self)
        }
        return true
    }

    /// As a client that is gone.
    func close() {
        shutdown(socket.number, CInt(SHUT_RDWR))
    }

    /// Everything that came, up to the end of the connection.
    func heard() -> [UInt8] {
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = receive(&chunk)
            guard count > 0 else { return answer }
            answer += chunk[..<count]
        }
    }
}

extension Client.Answer {
    struct Unreadable: Error {
        let bytes: String
    }

    init(parsing bytes: [UInt8]) throws {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Unreadable(bytes: String(decoding: bytes, as: UTF8.self))
        }
        var lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")[...]
        status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
        fields = lines.map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (
                String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            )
        }
        body = Array(bytes[end.upperBound...])
    }
}

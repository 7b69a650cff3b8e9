import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Answers with what it was sent. The path says how: see `handle`.
final class TestHandler: RequestHandler {
    /// Responders of requests to /later, for the test to answer.
    final class Held: Sendable {
        private let responders = Locked<[(path: String, body: [UInt8], responder: Responder)]>([])
        private let arrived: WakeUp

        init() throws { arrived = try WakeUp() }

        func add(_ path: String, _ body: [UInt8], _ responder: Responder) {
            responders.withLock { $0.append((path, body, responder)) }
            arrived.signal()
        }

        /// Waits until a request to /later is there.
        func next() -> (path: String, body: [UInt8], responder: Responder) {
            while true {
                if let first = responders.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                    return first
                }
                arrived.wait(timeout: .seconds(20))
            }
        }

        func next(within time: Duration) -> (path: String, body: [UInt8], responder: Responder)? {
            if count == 0 { arrived.wait(timeout: time) }
            return responders.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }

        var count: Int { responders.withLock { $0.count } }
    }

    private let held: Held

    init(held: Held) {
        self.held = held
    }

    func admit(_ head: RequestHead) -> Admission {
        switch head.pathText {
        case "/refused": .refuse(Response(status: 401, contentType: "text/plain", text: "who?"))
        case "/small": .accept(bodyBytesMax: 8)
        default: .accept(bodyBytesMax: 16 << 20)
        }
    }

    func handle(
        _ head: RequestHead,
        _ admitted: Admitted?,
        body: UnsafeRawBufferPointer,
        responder: Responder
    ) {
        let path = head.pathText
        if path.hasPrefix("/later") {
            held.add(path, Array(body), responder)
        } else if path == "/forgotten" {
        } else if path == "/twice" {
            responder.send(Response(status: 200, body: Array("first".utf8)))
            responder.send(Response(status: 200, body: Array("second".utf8)))
        } else if path == "/last" {
            responder.send(Response(status: 200, closes: true))
        } else if path == "/reset" {
            var response = Response(status: 200)
            response.breaks = .beforeAnswer
            responder.send(response)
        } else if path == "/half" {
            var response = Response(status: 200, body: Array("abcdef".utf8))
            response.breaks = .afterBody(bytes: 3)
            responder.send(response)
        } else if path == "/stream" {
            guard let stream = responder.stream(Response(status: 200, body: Array("a".utf8)))
            else { return }
            _ = stream.write(Array("bc".utf8))
            stream.finish()
        } else if path == "/name" {
            let names = head.peer.clientNames.joined(separator: " ")
            let name = names.isEmpty ? "nobody" : names
            responder.send(Response(status: 200, body: Array(name.utf8)))
        } else if path == "/peer" {
            let peer = "\(head.peer.host) \(head.peer.port)"
            responder.send(Response(status: 200, body: Array(peer.utf8)))
        } else if path == "/word" {
            let word = head.peer.mayForward ? "believed" : "not believed"
            responder.send(Response(status: 200, body: Array(word.utf8)))
        } else if path == "/empty" {
            responder.send(Response(status: 204))
        } else if path == "/unmodified" {
            responder.send(Response(status: 304, body: Array("as it was".utf8)))
        } else if path == "/big" {
            responder.send(Response(status: 200, body: Array(repeating: 0x62, count: 4 << 20)))
        } else if path == "/injection" {
            responder.send(
                Response(status: 200, fields: [("x-name", "a\r\nx-evil: 1"), ("b\r\nc", "d")])
            )
        } else if path == "/echo" {
            responder.send(Response(status: 200, body: Array(body)))
        } else {
            responder.send(Response(status: 200, body: Array("\(path) \(body.count)".utf8)))
        }
    }

    func answer(to problem: RequestProblem, head: RequestHead?, _ admitted: Admitted?) -> Response {
        Response(status: problem.status, contentType: "text/plain", text: problem.reason)
    }

    func stamp(_ fields: inout [UInt8], of response: Response) {
        fields.append(contentsOf: "x-stamp: yes\r\n".utf8)
    }
}

/// A server on a free port with the test's handler.
struct TestServer {
    let server: HTTPServer
    let held: TestHandler.Held

    init(
        loops: Int = 2,
        tls: TLSContext? = nil,
        proxies: ProxyTrust? = nil,
        journal: Journal = .silent,
        _ adjust: (inout HTTPServer.Limits) -> Void = { _ in }
    ) throws {
        var limits = HTTPServer.Limits()
        // Echoes are as large as bodies.
        limits.answerBytes = 16 << 20
        adjust(&limits)
        let held = try TestHandler.Held()
        self.held = held
        var configuration = HTTPServer.Configuration(
            listen: ListenAddress(host: "127.0.0.1", port: 0),
            loops: loops,
            limits: limits,
            tls: tls,
            journal: journal
        )
        configuration.proxies = proxies
        server = try HTTPServer(configuration) { TestHandler(held: held) }
    }

    /// Waits until the counters, which other threads change, meet a condition.
    func eventually(_ condition: (Counts<HTTPCounter>) -> Bool) -> Bool {
        TestSupport.eventually { condition(server.counters) }
    }

    func client(sending bytes: [UInt8] = []) throws -> TestConnection {
        let client = try TestConnection(port: server.address.port)
        client.send(bytes)
        return client
    }

    func client(sending text: String) throws -> TestConnection {
        try client(sending: Array(text.utf8))
    }

    /// A client whose kernel buffers little of what the server sends.
    func slowClient(sending text: String = "") throws -> TestConnection {
        let client = try TestConnection(port: server.address.port, receiveBuffer: 4096)
        client.send(text)
        return client
    }
}

// MARK: - A loop without a server

extension LoopPort {
    static func alone() throws -> LoopPort {
        let count = ConnectionCount(limit: 100, perNeighbourhood: 100)
        return try LoopPort(budgets: Budgets(HTTPServer.Limits()), connectionCount: count)
    }
}

extension EventLoop {
    convenience init(
        on listener: Listener,
        port: LoopPort,
        tls: TLSContext? = nil,
        _ handler: any RequestHandler
    ) {
        let limits = HTTPServer.Limits()
        let acceptor = Acceptor(
            listener: listener,
            sharing: [],
            tls: tls,
            proxies: nil,
            journal: .silent,
            notices: RefusalNotices(server: "a", limits: limits, journal: .silent)
        )
        self.init(port: port, acceptor: acceptor, limits: limits, handler: handler)
    }
}

// MARK: - What tests send

func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

/// The head of a request with a body of `size` bytes.
func post(_ path: String, _ size: Int) -> String {
    "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n"
}

func neighbourhood(_ host: String) throws -> Neighbourhood {
    try #require(SocketAddress(host: host, port: 1)).neighbourhood
}

extension [UInt8] {
    private static let tokens = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ";", ",", "0", "f", "chunked",
        "Content-Length: 1\r\n",
        "Transfer-Encoding: chunked\r\n", "Host: b\r\n", "HTTP/1.1", "/", "\u{ff}",
        "xxxxxxxxxxxxxxxx",
        "7fffffffffffffff", "0\r\n\r\n",
    ].map { Array($0.utf8) }

    /// A few bytes flipped, removed, doubled, or replaced by what parsers stumble over.
    func mutated(using random: inout SeededRandom) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            let end = Swift.min(bytes.count, place + Int.random(in: 1...8, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 3: bytes.insert(contentsOf: Self.tokens.randomElement(using: &random)!, at: place)
            default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        }
        return bytes
    }
}

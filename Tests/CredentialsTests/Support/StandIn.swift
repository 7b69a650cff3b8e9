import Glibc
import System
import TestSupport
import Testing

/// A server that a test writes: one request a connection, answered as the test says, also as no
/// good server does.
final class StandIn: Sendable {
    struct Request: Sendable {
        var method: String
        var target: String
        var fields: [String: String]
        var body: String

        var path: String { String(target.prefix { $0 != "?" }) }

        /// Query and form, decoded, in the order they came.
        var parameters: [(name: String, value: String)] {
            pairs(target.drop { $0 != "?" }.dropFirst()) + pairs(body[...])
        }

        subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

        private func pairs(_ text: Substring) -> [(name: String, value: String)] {
            text.split(separator: "&").map { pair in
                let halves = pair.split(
                    separator: "=",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                return (decoded(halves[0]), halves.count > 1 ? decoded(halves[1]) : "")
            }
        }

        private func decoded(_ text: Substring) -> String {
            var bytes: [UInt8] = []
            var rest = Array(text.utf8)[...]
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "%"), rest.count >= 2 {
                    let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                    bytes.append(UInt8(digits, radix: 16) ?? 0)
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    enum Reply: Sendable {
        case json(Int, String, date: WallTime? = nil)
        case raw(String)
        /// Goes on and on with pieces of a body.
        case endless
        /// Reads and never answers.
        case silence
    }

    let port: Int
    var url: String { "http://127.0.0.1:\(port)" }
    let requests: SharedValue<[Request]>

    private let listener: CInt
    private let answer: @Sendable (Request, Int) -> Reply
    private let open = Locked<[CInt]>([])
    private let workers = Locked<[Worker]>([])
    private let isEnding = SharedValue(false)

    init(_ answer: @escaping @Sendable (Request, Int) -> Reply) throws {
        self.answer = answer
        requests = SharedValue([])
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isBound else { throw SystemError(call: "listen", code: errno) }
        port = Int(in_port_t(bigEndian: address.sin_port))
        let acceptor = try Worker("stand-in") { [self] in acceptAll() }
        workers.withLock { $0.append(acceptor) }
    }

    func stop() {
        isEnding.change { $0 = true }
        shutdown(listener, Int32(SHUT_RDWR))
        while let worker = workers.withLock({ $0.popLast() }) {
            for descriptor in open.withLock({ $0 }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
            worker.join()
        }
        close(listener)
        for descriptor in open.withLock({ $0 }) { close(descriptor) }
    }

    private func acceptAll() {
        while true {
            // accept takes a descriptor before it waits, and fails at once while a test leaves
            // none.
            var ready = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            poll(&ready, 1, -1)
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            open.withLock { $0.append(descriptor) }
            guard let worker = try? Worker("stand-in", { [self] in serve(descriptor) }) else {
                return
            }
            workers.withLock { $0.append(worker) }
        }
    }

    private func serve(_ descriptor: CInt) {
        guard let request = read(descriptor) else { return }
        let number = requests.change { requests in
            requests.append(request)
            return requests.count - 1
        }
        switch answer(request, number) {
        case .json(let status, let text, let date):
            let date = date.map { "Date: \($0.standInDate)\r\n" } ?? ""
            send(
                "HTTP/1.1 \(status) X\r\n\(date)Content-Length: \(text.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(text)",
                descriptor
            )
        case .raw(let text): send(text, descriptor)
        case .endless:
            guard send("HTTP/1.1 200 X\r\n\r\n", descriptor) else { return }
            // In trickles: a faster body would reach the limit on its size first.
            while send(String(repeating: "x", count: 100), descriptor),
                !isEnding.wait(.milliseconds(1), until: { $0 })
            {}
        case .silence:
            var byte: UInt8 = 0
            _ = recv(descriptor, &byte, 1, 0)
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    @discardableResult
    private func send(_ text: String, _ descriptor: CInt) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private func read(_ descriptor: CInt) -> Request? {
        var text = ""
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            if let end = text.firstRange(of: "\r\n\r\n") {
                let lines = text[..<end.lowerBound].split(separator: "\r\n")
                let words = lines[0].split(separator: " ")
                var fields: [String: String] = [:]
                for line in lines.dropFirst() {
                    guard let colon = line.firstIndex(of: ":") else { continue }
                    let value = line[line.index(after: colon)...].drop { $0 == " " }
                    fields[line[..<colon].lowercased()] = String(value)
                }
                let body = String(text[end.upperBound...])
                if body.utf8.count >= fields["content-length"].flatMap(Int.init) ?? 0 {
                    return Request(
                        method: String(words[0]),
                        target: String(words[1]),
                        fields: fields,
                        body: body
                    )
                }
            }
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: piece[..<count], as: UTF8.self)
        }
    }
}

/// `openssl s_server` with a certificate that nobody knows.
final class TLSStandIn {
    let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    init() throws {
        directory = TemporaryDirectory()
        let key = "\(directory.path)/key"
        let certificate = "\(directory.path)/certificate"
        let status = try ChildProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]).wait()
        try #require(status == 0, "openssl makes a certificate")
        process = try ChildProcess(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate,
                "-www",
            ],
            output: .pipe
        )
        port = try #require(process.output?.port(after: "ACCEPT 127.0.0.1:"))
    }

    func stop() {
        process.stop()
        directory.remove()
    }
}

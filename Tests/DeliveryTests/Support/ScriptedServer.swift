import Glibc
import Synchronization
import System
import TestSupport

/// An HTTP server that does exactly what a test says, also what no good server does: one blocking
/// thread per connection.
final class ScriptedServer: Sendable {
    struct Request: Sendable {
        let head: String
        let body: [UInt8]
        /// A number of the connection's own.
        var connection: CInt = 0

        /// The logstore in the path.
        var logstore: String {
            let parts = head.split(separator: " ").dropFirst().first?.split(separator: "/") ?? []
            return parts.count > 1 ? String(parts[1]) : ""
        }

        /// The values of the logs in a body that is not compressed.
        var values: [String] { Samples.values(in: body) }

        func header(_ name: String) -> String? {
            head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ": ") }
                .map { String($0.dropFirst(name.utf8.count + 2)) }
        }
    }

    enum Reply: Sendable {
        case text(String)
        /// Ends the connection without a word.
        case hangUp
        /// Reads on and never answers.
        case silence

        static var stored: Reply { answer(200) }

        /// An answer as SLS gives it.
        static func answer(
            _ status: Int,
            code: String? = nil,
            message: String = "",
            retryAfter: Int? = nil
        ) -> Reply {
            let body =
                code.map { #"{"errorCode":"\#($0)","errorMessage":\#(jsonQuoted(message))}"# } ?? ""
            let wait = retryAfter.map { "Retry-After: \($0)\r\n" } ?? ""
            return .text(
                "HTTP/1.1 \(status) X\r\nServer: s\r\nx-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
                    + "x-log-time: \(WallTime.now.seconds)\r\n\(wait)"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
        }
    }

    /// All requests, in the order of their arrival.
    let requests: SharedValue<[Request]>
    let connectionCount = Locked(0)
    let port: Int

    private let listener: CInt
    private let answer: @Sendable (Request, Int) -> Reply
    private let descriptors = Locked<[CInt]>([])
    private let workers = Locked<[Worker]>([])

    /// The closure gets the request and its number, beginning with 0.
    init(
        port: Int = 0,
        answer: @escaping @Sendable (Request, Int) -> Reply = { _, _ in .stored }
    ) throws {
        self.answer = answer
        requests = SharedValue([])
        (listener, self.port) = try LoopbackSocket.listening(port: port)
        let acceptor = try Worker("test-accept") { [self] in acceptAll() }
        workers.withLock { $0.append(acceptor) }
    }

    /// Ends all connections and threads.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        while let worker = workers.withLock({ $0.popLast() }) {
            for descriptor in descriptors.withLock({ $0 }) {
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
            worker.join()
        }
        close(listener)
        for descriptor in descriptors.withLock({ $0 }) { close(descriptor) }
    }

    /// From now on nobody can connect; what is connected stays so.
    func refuseConnections() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func acceptAll() {
        while true {
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            connectionCount.withLock { $0 += 1 }
            descriptors.withLock { $0.append(descriptor) }
            guard let worker = try? Worker("test-serve", { [self] in serve(descriptor) }) else {
                return
            }
            workers.withLock { $0.append(worker) }
        }
    }

    private func serve(_ descriptor: CInt) {
        var buffer: [UInt8] = []
        while let request = readRequest(descriptor, &buffer) {
            let number = requests.change { requests in
                requests.append(request)
                return requests.count - 1
            }
            switch answer(request, number) {
            case .text(let text):
                guard LoopbackSocket.send(text.utf8, to: descriptor) else { return }
            case .hangUp:
                shutdown(descriptor, Int32(SHUT_RDWR))
                return
            case .silence: continue
            }
        }
    }

    private func readRequest(_ descriptor: CInt, _ buffer: inout [UInt8]) -> Request? {
        var headEnd: Int?
        var length = 0
        while true {
            if headEnd == nil, let end = Self.headEnd(buffer) {
                headEnd = end
                let head = String(decoding: buffer[..<end], as: UTF8.self)
                length =
                    Request(head: head, body: []).header("content-length").flatMap(Int.init) ?? 0
            }
            if let headEnd, buffer.count >= headEnd + length {
                let request = Request(
                    head: String(decoding: buffer[..<headEnd], as: UTF8.self),
                    body: Array(buffer[headEnd..<headEnd + length]),
                    connection: descriptor
                )
                buffer.removeFirst(headEnd + length)
                return request
            }
            var piece = [UInt8](repeating: 0, count: 64 << 10)
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { return nil }
            buffer += piece[..<count]
        }
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= 4 else { return nil }
        return (0...bytes.count - 4).first { bytes[$0..<$0 + 4].elementsEqual(mark) }.map { $0 + 4 }
    }
}

import Glibc
package import Net
package import System

/// A blocking TCP connection that shows an HTTP exchange as it is on the wire. It closes with the
/// value.
package final class TestConnection {
    package struct NoHandshake: Error {}

    /// Why nothing more can be read.
    package enum Ending: Sendable {
        case closed
        case reset
        /// The peer sent nothing for as long as the connection waits.
        case silence
    }

    package private(set) var descriptor: CInt
    /// The client's side of TLS; nil for plain text.
    package var tls: ClientTLS?
    package private(set) var ending: Ending?
    /// What was received and not read yet.
    package private(set) var unread: [UInt8] = []

    /// `source` is the client's own address, any of 127.0.0.0/8.
    package init(
        to address: ListenAddress,
        from source: String = "127.0.0.1",
        receiveBuffer: CInt? = nil,
        seconds: Int = 20
    ) throws(SystemError) {
        guard let own = SocketAddress(host: source, port: 0),
            let target = SocketAddress(host: address.host, port: address.port)
        else { preconditionFailure("\(source) or \(address) is not an address") }
        let made = try system("socket") { socket(own.family, CInt(SOCK_STREAM.rawValue), 0) }
        descriptor = made
        if let receiveBuffer { set(SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: seconds, tv_usec: 0))
        _ = try system("bind") { own.withPointer { bind(made, $0, $1) } }
        _ = try system("connect") { target.withPointer { connect(made, $0, $1) } }
    }

    /// To a server on this machine's loopback address, from 127.0.0.`host`.
    package convenience init(
        port: UInt16,
        from host: Int = 1,
        receiveBuffer: CInt? = nil
    ) throws(SystemError) {
        try self.init(
            to: ListenAddress(host: "127.0.0.1", port: port),
            from: "127.0.0.\(host)",
            receiveBuffer: receiveBuffer
        )
    }

    deinit {
        tls = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Does the client's part of a TLS handshake.
    @discardableResult
    package func secure(_ options: ClientTLS.Options = ClientTLS.Options()) throws -> ClientTLS {
        let tls = ClientTLS(options, descriptor: descriptor)
        guard tls.connect() else { throw NoHandshake() }
        self.tls = tls
        return tls
    }

    private func set<Value>(_ level: CInt, _ option: CInt, _ value: Value) {
        _ = withUnsafeBytes(of: value) {
            setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count))
        }
    }

    // MARK: - Sending

    package func send(_ text: String) { send(Array(text.utf8)) }

    /// A server that refuses early stops reading; its answer can still be read.
    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                if let tls { return tls.send($0) }
                return Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends each `send` as a packet of its own.
    package func sendAtOnce() { set(CInt(IPPROTO_TCP), TCP_NODELAY, CInt(1)) }

    /// While corked, what is sent waits to go together.
    package func cork(_ isCorked: Bool) {
        set(CInt(IPPROTO_TCP), TCP_CORK, CInt(isCorked ? 1 : 0))
    }

    package func finishWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// True once the peer's kernel has the end that `finishWriting` sent.
    package var hasPeerEnd: Bool {
        let finWait2: UInt8 = 5
        // The state is the first byte of `tcp_info`.
        var state: UInt8 = 0
        var length: socklen_t = 1
        return getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &state, &length) == 0
            && state == finWait2
    }

    /// Ends both directions at once, as a client that goes away.
    package func close() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Closes with a reset instead of a FIN.
    package func reset() {
        set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Sends a request and reads its answer; nil when the connection ended before a whole one came.
    package func request(
        _ method: String,
        _ path: String,
        fields: [String] = [],
        body: String = ""
    ) -> TestAnswer? {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(body.utf8.count)"]
            + fields
        send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return answer()
    }

    // MARK: - Receiving

    /// Reads more; false when there is no more.
    private func fill() -> Bool {
        guard ending == nil else { return false }
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        errno = 0
        let count =
            tls.map { tls in chunk.withUnsafeMutableBytes { tls.receive($0) } }
            ?? recv(descriptor, &chunk, chunk.count, 0)
        if count > 0 {
            unread += chunk[..<count]
            return true
        }
        // OpenSSL says of an error only that there is no more.
        if count < 0 || tls != nil, errno == EAGAIN {
            ending = .silence
        } else {
            ending = count == 0 ? .closed : .reset
        }
        return false
    }

    /// The next answer; nil when the connection ended before a whole one came.
    package func answer(toHead: Bool = false) -> TestAnswer? {
        while true {
            if let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
                guard var answer = try? TestAnswer(head: unread[..<end.lowerBound]) else {
                    return nil
                }
                let length = toHead ? 0 : answer["content-length"].flatMap { Int($0) } ?? 0
                let whole = end.upperBound + length
                while unread.count < whole { guard fill() else { return nil } }
                answer.body = Array(unread[end.upperBound..<whole])
                unread.removeFirst(whole)
                return answer
            }
            guard fill() else { return nil }
        }
    }

    /// True if the server ends the connection before a whole answer.
    package func endsUnanswered() -> Bool { answer() == nil && ending != .silence }

    /// The next chunk of a body; "" for the last one, nil when the connection ended before it came.
    package func chunk() -> String? {
        while true {
            if let line = unread.firstRange(of: Array("\r\n".utf8)) {
                let digits = String(decoding: unread[..<line.lowerBound], as: UTF8.self)
                guard let size = Int(digits, radix: 16) else { return nil }
                let whole = line.upperBound + size + 2
                while unread.count < whole { guard fill() else { return nil } }
                defer { unread.removeFirst(whole) }
                return String(decoding: unread[line.upperBound..<whole - 2], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// Reads until a text has come and leaves it unread; false when the connection ends before.
    package func receives(_ part: String) -> Bool {
        while !unreadText.contains(part) { guard fill() else { return false } }
        return true
    }

    package var unreadText: String { String(decoding: unread, as: UTF8.self) }

    /// Everything up to the end of the connection, with "(silence)" after it when the server did
    /// not end it.
    package func rest() -> String {
        let text = String(decoding: readToEnd(), as: UTF8.self)
        return ending == .silence ? text + "(silence)" : text
    }

    package func readToEnd() -> [UInt8] {
        while fill() {}
        defer { unread = [] }
        return unread
    }

    /// True if the server ends the connection without sending anything more.
    package func isEnded() -> Bool {
        while fill() {}
        return unread.isEmpty && ending != .silence
    }
}

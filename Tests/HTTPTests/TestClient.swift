import Glibc
import TestSupport
import Testing

/// A blocking client that sends bytes and reads answers as they are on the wire.
final class TestClient {
    struct Answer: Equatable {
        var status: Int
        var fields: [String: String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    struct ConnectError: Error {}

    private(set) var descriptor: CInt
    /// What is sent and received goes through it; see `secure`.
    var tls: ClientTLS?
    private var buffered: [UInt8] = []

    /// `host` is the last byte of the client's own address, 127.0.0.host.
    init(port: UInt16, receiveBuffer: CInt? = nil, from host: Int = 1) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw ConnectError() }
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0000 + host).bigEndian
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard isBound == 0 else { throw ConnectError() }
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw ConnectError() }
    }

    deinit {
        tls = nil
        if descriptor >= 0 { close(descriptor) }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                if let tls { return tls.send($0) }
                return Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Until it is taken out again, what is sent waits to go together.
    func cork(_ isCorked: Bool) {
        var option: CInt = isCorked ? 1 : 0
        let size = socklen_t(MemoryLayout<CInt>.size)
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_CORK, &option, size)
    }

    func finishWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// Closes with a reset instead of a FIN.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_LINGER,
            &option,
            socklen_t(MemoryLayout<linger>.size)
        )
        close(descriptor)
        descriptor = -1
    }

    /// Reads more; false at the end of the connection.
    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count =
            tls.map { tls in chunk.withUnsafeMutableBytes { tls.receive($0) } }
            ?? recv(descriptor, &chunk, chunk.count, 0)
        if count < 0, errno == EAGAIN { Issue.record("the server said nothing for 20 s") }
        guard count > 0 else { return false }
        buffered += chunk[..<count]
        return true
    }

    /// The next answer; nil when the connection ended before a whole one came.
    func answer(toHead: Bool = false) -> Answer? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = firstRange(of: end) {
                let head = String(decoding: buffered[..<range.lowerBound], as: UTF8.self)
                buffered.removeFirst(range.upperBound)
                return finish(head, toHead: toHead)
            }
            guard fill() else { return nil }
        }
    }

    /// The next chunk of a body; "" for the last one, nil when the connection ended before it came.
    func chunk() -> String? {
        let end = Array("\r\n".utf8)
        while true {
            if let line = firstRange(of: end) {
                let digits = String(decoding: buffered[..<line.lowerBound], as: UTF8.self)
                guard let size = Int(digits, radix: 16) else { return nil }
                let whole = line.upperBound + size + 2
                while buffered.count < whole { guard fill() else { return nil } }
                defer { buffered.removeFirst(whole) }
                return String(decoding: buffered[line.upperBound..<whole - 2], as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    /// Everything up to the end of the connection.
    func rest() -> String {
        while fill() {}
        defer { buffered = [] }
        return String(decoding: buffered, as: UTF8.self)
    }

    private func finish(_ head: String, toHead: Bool) -> Answer? {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let status = Int(lines[0].split(separator: " ")[1]) else { return nil }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[String(parts[0])] = parts.count > 1 ? String(parts[1].dropFirst()) : ""
        }
        let length = toHead ? 0 : fields["content-length"].flatMap { Int($0) } ?? 0
        while buffered.count < length { guard fill() else { return nil } }
        defer { buffered.removeFirst(length) }
        return Answer(status: status, fields: fields, body: Array(buffered[..<length]))
    }

    /// Whether the server ends the connection, with nothing more to read before it.
    func isEnded() -> Bool {
        while fill() {}
        return buffered.isEmpty
    }

    private func firstRange(of wanted: [UInt8]) -> Range<Int>? {
        guard buffered.count >= wanted.count else { return nil }
        for start in 0...(buffered.count - wanted.count)
        where buffered[start..<start + wanted.count].elementsEqual(wanted) {
            return start..<start + wanted.count
        }
        return nil
    }
}

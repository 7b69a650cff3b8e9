import Glibc
import System

private let answer = Array(
    "HTTP/1.1 200 OK\r\nx-log-requestid: 0123456789ABCDEF01234567\r\ncontent-length: 0\r\n\r\n".utf8
)

/// The answer for logstores whose name begins with `denied`.
private let refusal = Array(
    ("HTTP/1.1 404 Not Found\r\nx-log-requestid: 0123456789ABCDEF01234567\r\ncontent-length: 66\r\n\r\n"
        + #"{"errorCode":"LogStoreNotExist","errorMessage":"no such logstore"}"#).utf8
)

/// Answers 200 to every PutLogs, except for denied logstores. It prints its port (0 picks a free
/// one) and runs until it is killed.
///
/// The kernel drops the bodies (MSG_TRUNC), so the sink takes little from the machine that it
/// shares with the gateway.
func runSink(port: UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: CInt = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listening = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            bind(listener, address, length) == 0 && listen(listener, 64) == 0
                && getsockname(listener, address, &length) == 0
        }
    }
    guard listening else { fatalError("the sink cannot listen") }
    print(UInt16(bigEndian: address.sin_port))
    fflush(nil)
    while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { continue }
        _ = try? Worker("sink") {
            serve(client)
            close(client)
        }
    }
}

private func serve(_ client: CInt) {
    var buffer: [UInt8] = []
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: 65536, alignment: 16)
    defer { scratch.deallocate() }
    while true {
        while headEnd(of: buffer) == nil {
            let count = recv(client, scratch, 65536, 0)
            guard count > 0 else { return }
            buffer.append(contentsOf: UnsafeRawBufferPointer(start: scratch, count: count))
        }
        guard let end = headEnd(of: buffer) else { return }
        let answer = isDenied(buffer[..<end]) ? refusal : answer
        var rest = contentLength(in: buffer[..<end]) - (buffer.count - end)
        buffer.removeAll(keepingCapacity: true)
        while rest > 0 {
            let count = recv(client, nil, min(rest, 1 << 20), Int32(MSG_TRUNC))
            guard count > 0 else { return }
            rest -= count
        }
        guard send(client, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count
        else { return }
    }
}

private func headEnd(of bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    for end in 4...bytes.count
    where bytes[end - 1] == 10 && bytes[end - 2] == 13 && bytes[end - 3] == 10 {
        return end
    }
    return nil
}

/// True if the request line names a denied logstore.
private func isDenied(_ head: ArraySlice<UInt8>) -> Bool {
    let path = head.prefix { $0 != 13 }
    return String(decoding: path, as: UTF8.self).contains("/denied")
}

private func contentLength(in head: ArraySlice<UInt8>) -> Int {
    for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2, parts[0].lowercased() == "content-length" {
            return Int(parts[1].drop { $0 == " " }) ?? 0
        }
    }
    return 0
}

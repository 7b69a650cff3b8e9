import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// What the server takes from the machine. Each test has a process of its own, since it measures or
/// changes what belongs to the whole process.
@Suite(.timeLimit(.minutes(10)))
struct ResourceTests {
    /// A sanitizer keeps what was freed, and shadows what was not.
    private static let isSanitized =
        dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    @Test("Ten thousand idle connections cost less than 60 MiB", .enabled(if: !isSanitized))
    func idleConnections() async {
        await #expect(processExitsWith: .success) {
            let count = min(4000, (DescriptorLimit.raise() - 200) / 2)
            let server = try TestServer { $0.connectionsPerAddress = count }
            let before = residentBytes()
            var clients: [CInt] = []
            for _ in 0..<count { clients.append(try connectedSocket(server.server.address.port)) }
            // Each has had a request with a body, so what it holds is what an idle connection
            // holds.
            let body = String(repeating: "x", count: 3000)
            let request = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n\(body)"
            for client in clients {
                precondition(send(client, request, request.utf8.count, 0) == request.utf8.count)
            }
            var answer = [UInt8](repeating: 0, count: 1000)
            for client in clients { precondition(recv(client, &answer, answer.count, 0) > 0) }
            precondition(server.server.counters[.openConnections] == count)
            let cost = (residentBytes() - before) / count * 10_000
            precondition(cost < 60 << 20, "10,000 idle connections would cost \(cost) bytes")
        }
    }

    @Test("A thousand idle TLS connections cost less than 24 MiB", .enabled(if: !isSanitized))
    func idleSecureConnections() async {
        await #expect(processExitsWith: .success) {
            let count = 1000
            let server = try TestServer.securely { $0.connectionsPerAddress = count + 1 }
            let body = String(repeating: "x", count: 3000)
            let request = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n\(body)"
            var clients: [TestConnection] = []
            var before = 0
            for number in 0...count {
                let client = try server.secureClient(sending: request)
                precondition(client.answer()?.status == 200)
                // The client's side, which is done, is not to be counted.
                client.tls = nil
                clients.append(client)
                if number == 0 { before = residentBytes() }
            }
            precondition(server.server.counters[.openConnections] == count + 1)
            let cost = residentBytes() - before
            precondition(cost < 24 << 20, "\(count) idle TLS connections cost \(cost) bytes")
        }
    }

    @Test(
        "Without descriptors accepting pauses instead of spinning, and goes on when there are some"
    )
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 128, rlim_max: 128)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let server = try TestServer(loops: 1)
            let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            var held: [CInt] = []
            while true {
                let copy = dup(0)
                guard copy >= 0 else { break }
                held.append(copy)
            }
            let begun = Moment.now
            try connectSocket(client, server.server.address.port)
            let request = get("/")
            send(client, request, request.utf8.count, 0)
            var pauses: Int { server.server.counters[.acceptPauses] }
            // Without descriptors there is no other way to wait.
            for _ in 0..<3000 where pauses < 4 { usleep(10_000) }
            let (count, time) = (pauses, Moment.now - begun)
            let most = 2 + Int(time / .milliseconds(100))
            precondition(count >= 4 && count <= most, "\(count) pauses in \(time)")
            for copy in held { close(copy) }
            var answer = [UInt8](repeating: 0, count: 1000)
            precondition(recv(client, &answer, answer.count, 0) > 0)
        }
    }

    @Test(
        "Memory stays within the bounds when clients hold all they can",
        .enabled(if: !isSanitized)
    )
    func all() async {
        await #expect(processExitsWith: .success) {
            let server = try TestServer(loops: 1) {
                $0.heldHeadBytes = 4 << 20
                $0.inFlightBodyBytes = 8 << 20
                $0.unsentAnswerBytes = 8 << 20
            }
            let port = server.server.address.port
            let long = String(repeating: "x", count: 15_000)
            let piped = String(repeating: get("/a"), count: 2000)
            let later = "POST /later HTTP/1.1\r\nHost: a\r\n"
            let kinds = [
                // A head without end.
                "GET /a HTTP/1.1\r\nHost: a\r\nX: \(long)",
                // A long head, and a body that stops.
                "POST /a HTTP/1.1\r\nHost: a\r\nX: \(long)\r\nContent-Length: 60000\r\n\r\n\(long)",
                // A long head and a handler that takes its time, with more requests behind it.
                "\(later)X: \(long)\r\nContent-Length: 15000\r\n\r\n\(long)\(piped.prefix(8000))",
                // Answers that nobody reads: a large one, and many small ones.
                get("/big"),
                piped,
            ]
            var clients = try [Reluctant(port, from: 1)]
            clients[0].push(get("/a"))
            precondition(server.eventually { $0.requests == 1 })
            let before = residentBytes()
            for kind in kinds {
                for number in 0..<240 {
                    let client = try Reluctant(port, from: 2 + number % 12)
                    client.push(kind)
                    clients.append(client)
                }
            }
            // Those of small answers go on until the server does not read them any more.
            for _ in 0..<20 {
                for client in clients.suffix(240) { client.push(piped) }
                usleep(20_000)
            }
            precondition(server.eventually { $0[.heldHeads] > 1 << 20 })
            precondition(server.eventually { $0[.heldBodies] > 4 << 20 })
            precondition(server.eventually { $0[.heldAnswers] > 3 << 20 })
            let counters = server.server.counters
            precondition(counters[.heldHeads] <= 4 << 20)
            precondition(counters[.heldBodies] <= 8 << 20)
            precondition(counters[.heldAnswers] <= 8 << 20)
            // The handler here has a copy of each body. 4 MiB are those that the pool keeps, a
            // large answer is twice there while it is written, and 2 KiB are a connection's.
            let allowed = (4 + 2 * 8 + 8 + 4 + 8) << 20 + clients.count << 11
            let grown = residentBytes() - before
            precondition(grown < allowed, "\(grown >> 10) KiB more, \(allowed >> 10) are enough")
        }
    }
}

private struct Unconnected: Error {}

private func connectedSocket(_ port: UInt16) throws -> CInt {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    try connectSocket(descriptor, port)
    return descriptor
}

/// From 127.0.7.`host`, when there is one.
private func connectSocket(_ descriptor: CInt, _ port: UInt16, from host: Int? = nil) throws {
    if let host {
        guard let own = SocketAddress(host: "127.0.7.\(host)", port: 0),
            own.withPointer({ bind(descriptor, $0, $1) }) == 0
        else { throw Unconnected() }
    }
    guard let address = SocketAddress(host: "127.0.0.1", port: port),
        address.withPointer({ connect(descriptor, $0, $1) }) == 0
    else { throw Unconnected() }
}

private func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 200)
    guard fgets(&text, CInt(text.count), file) != nil else { return 0 }
    let words = String(
        decoding: text.prefix { $0 != 0 }.map(UInt8.init(truncatingIfNeeded:)),
        as: UTF8.self
    )
    .split(separator: " ")
    return (Int(words[1]) ?? 0) * sysconf(CInt(_SC_PAGESIZE))
}

/// A client that sends what is taken from it and reads nothing.
private final class Reluctant {
    private let descriptor: CInt

    init(_ port: UInt16, from host: Int) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var size: CInt = 4096
        let length = socklen_t(MemoryLayout<CInt>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length)
        try connectSocket(descriptor, port, from: host)
    }

    deinit { close(descriptor) }

    func push(_ text: String) {
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        _ = send(descriptor, text, text.utf8.count, flags)
    }
}

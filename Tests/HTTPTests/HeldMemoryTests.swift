import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// All that clients can make the server hold at a time, as the kernel sees it: nothing of it is
/// outside of the bounds.
@Suite(.timeLimit(.minutes(1)))
struct HeldMemoryTests {
    /// A sanitizer keeps what was freed, and shadows what was not.
    private static let isSanitized =
        dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

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
            let piped = String(repeating: "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", count: 2000)
            let later = "POST /later HTTP/1.1\r\nHost: a\r\n"
            let kinds = [
                // A head without end.
                "GET /a HTTP/1.1\r\nHost: a\r\nX: \(long)",
                // A long head, and a body that stops.
                "POST /a HTTP/1.1\r\nHost: a\r\nX: \(long)\r\nContent-Length: 60000\r\n\r\n\(long)",
                // A long head and a handler that takes its time, with more requests behind it.
                "\(later)X: \(long)\r\nContent-Length: 15000\r\n\r\n\(long)\(piped.prefix(8000))",
                // Answers that nobody reads: a large one, and many small ones.
                "GET /big HTTP/1.1\r\nHost: a\r\n\r\n",
                piped,
            ]
            var clients = try [Reluctant(port, from: 1)]
            clients[0].push("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
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

/// A client that sends what is taken from it and reads nothing.
private final class Reluctant {
    struct Unconnected: Error {}

    private let descriptor: CInt

    init(_ port: UInt16, from host: Int) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var size: CInt = 4096
        let length = socklen_t(MemoryLayout<CInt>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length)
        guard let own = SocketAddress(host: "127.0.7.\(host)", port: 0),
            let its = SocketAddress(host: "127.0.0.1", port: port),
            own.withPointer({ bind(descriptor, $0, $1) }) == 0,
            its.withPointer({ connect(descriptor, $0, $1) }) == 0
        else { throw Unconnected() }
    }

    deinit { close(descriptor) }

    func push(_ text: String) {
        let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
        _ = send(descriptor, text, text.utf8.count, flags)
    }
}

private func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var text = [CChar](repeating: 0, count: 200)
    guard fgets(&text, CInt(text.count), file) != nil else { return 0 }
    let words = String(
        decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
        as: UTF8.self
    )
    .split(separator: " ")
    return (Int(words[1]) ?? 0) * sysconf(CInt(_SC_PAGESIZE))
}

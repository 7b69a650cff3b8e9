import CSystem
import Glibc
import Net
import System

/// One connection of a load: sends a request, reads its answer, and opens itself again when the
/// gateway has closed it.
final class OpenConnection {
    enum Progress: Equatable {
        case waiting, broken
        case answered(status: Int)
    }

    let slot: UInt32
    /// Tells events of an earlier socket from those of this one.
    private(set) var generation: UInt32 = 0
    /// The numbers of the requests whose time has come. The first one is under way.
    var due: [Int] = []
    private let port: UInt16
    private var socket: Socket?
    private var request: [UInt8] = []
    private var sentCount = 0
    private var answer: [UInt8] = []
    private var scratch = [UInt8](repeating: 0, count: 16384)

    init(slot: UInt32, port: UInt16) {
        self.slot = slot
        self.port = port
    }

    /// Does not wait for the connection: the first bytes do.
    func open(_ poller: Poller) throws {
        guard let address = SocketAddress(host: "127.0.0.1", port: port) else { return }
        let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = OwnedDescriptor(
            taking: try system("socket") { Glibc.socket(AF_INET, CInt(type), 0) }
        )
        let number = descriptor.number
        var yes: CInt = 1
        setsockopt(number, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        let outcome = address.withPointer { connect(number, $0, $1) }
        guard outcome == 0 || errno == EINPROGRESS else {
            throw SystemError(call: "connect", code: errno)
        }
        generation &+= 1
        try poller.watchChanges(of: number, for: PollToken(slot: slot, generation: generation))
        socket = Socket(descriptor)
    }

    /// Sends what it can.
    func begin(_ request: [UInt8], _ poller: Poller) -> Progress {
        self.request = request
        sentCount = 0
        answer.removeAll(keepingCapacity: true)
        return attempt {
            if socket == nil { try open(poller) }
            _ = try sendRest()
            return .waiting
        }
    }

    /// Sends and receives what it can, after an event.
    func advance() -> Progress {
        attempt { try sendRest() ? try receive() : .waiting }
    }

    private func attempt(_ body: () throws -> Progress) -> Progress {
        do {
            return try body()
        } catch {
            socket = nil
            return .broken
        }
    }

    private func sendRest() throws -> Bool {
        while sentCount < request.count {
            let outcome = try request.withUnsafeBytes { bytes in
                try socket?.send(UnsafeRawBufferPointer(rebasing: bytes[sentCount...]))
            }
            guard case .done(let count) = outcome else { return false }
            sentCount += count
        }
        return true
    }

    private func receive() throws -> Progress {
        while true {
            let outcome = try scratch.withUnsafeMutableBytes { room in
                try socket?.receive(into: room)
            }
            guard case .done(let count) = outcome else { return .waiting }
            guard count > 0 else {
                socket = nil
                // Between two requests it may close what it likes.
                return due.isEmpty ? .waiting : .broken
            }
            answer.append(contentsOf: scratch[..<count])
            guard let head = MessageHead(of: answer), answer.count >= head.end + head.bodyBytes
            else { continue }
            if head.closes { socket = nil }
            return .answered(status: head.status)
        }
    }
}

import Glibc
import Net
import System

/// One connection of the sink: reads a request, then waits until it is answered.
///
/// The kernel drops the bodies of plain connections (MSG_TRUNC), so the sink takes little from the
/// machine that it shares with the gateway.
final class SinkConnection {
    enum Progress {
        case incomplete, request, answering, ended
    }

    let slot: UInt32
    private var socket: Socket
    private var isReady = false
    /// The bytes of a head that has no end yet.
    private var head: [UInt8] = []
    /// Bytes of the body that are still to come; nil while a head is read.
    private var rest: Int?
    private var isDenied = false
    private var isAnswering = false
    private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)

    init(_ socket: consuming Socket, _ slot: UInt32) {
        self.socket = socket
        self.slot = slot
    }

    deinit { scratch.deallocate() }

    var descriptor: CInt { socket.number }

    /// Reads until a request is complete, or nothing is left to read.
    func read() throws -> Progress {
        if isAnswering { return .answering }
        if !isReady {
            guard try socket.handshake() else { return .incomplete }
            isReady = true
        }
        while true {
            if rest == 0 {
                rest = nil
                isAnswering = true
                return .request
            }
            guard case .done(let count) = try receive() else { return .incomplete }
            guard count > 0 else { return .ended }
            if let left = rest { rest = left - count } else { readHead(count) }
        }
    }

    func answer(_ answer: SinkAnswer) throws {
        let bytes = isDenied ? SinkAnswer.denied.bytes : answer.bytes
        isAnswering = false
        let outcome = try bytes.withUnsafeBytes { bytes throws(SystemError) in
            try socket.send(bytes)
        }
        // The client reads each answer before its next request, so there is room for one.
        guard outcome == .done(bytes.count) else { throw SystemError(call: "send", code: EAGAIN) }
    }

    private func receive() throws(SystemError) -> Outcome {
        guard let rest else { return try socket.receive(into: scratch) }
        guard socket.isSecure else {
            return try attempt("recv") {
                recv(socket.number, nil, min(rest, 1 << 20), Int32(MSG_TRUNC))
            }
        }
        return try socket.receive(
            into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(rest, scratch.count)])
        )
    }

    private func readHead(_ count: Int) {
        head.append(contentsOf: scratch[..<count])
        guard let message = MessageHead(of: head) else { return }
        isDenied = String(decoding: head.prefix { $0 != 13 }, as: UTF8.self).contains("/denied")
        rest = max(0, message.bodyBytes - (head.count - message.end))
        head.removeAll(keepingCapacity: true)
    }
}

import Glibc
import Net
import System

/// What a sink answers, and when.
struct SinkSettings {
    /// 0 picks a free one.
    var port: UInt16
    /// From a request's last byte to its answer.
    var delay: Duration
    /// The share of requests that get an error: by turns 500, 503, and 403 for a quota.
    var errorsPercent: Double
    var certificate: TLSSettings.Certificate?
}

/// Answers 200 to every PutLogs, except for denied logstores and the share of errors. It prints its
/// port and runs until it is killed.
func runSink(_ settings: SinkSettings) {
    do throws(SystemError) {
        try Worker("sink") {
            do {
                try Sink(settings).run()
            } catch {
                fatalError("the sink: \(error)")
            }
        }
        .join()
    } catch {
        fatalError("the sink cannot start: \(error)")
    }
}

/// One thread serves all connections: those that wait for their answers cost nothing.
private final class Sink {
    private let listener: Listener
    private let poller: Poller
    private let tls: TLSContext?
    private let delay: Duration
    private var errors: ErrorShare
    private var connections: [UInt32: SinkConnection] = [:]
    private var lastSlot: UInt32 = 0
    /// In the order of their deadlines, because all answers take the same time.
    private var waiting: [(connection: SinkConnection, deadline: Moment)] = []
    private var answeredCount = 0

    init(_ settings: SinkSettings) throws {
        listener = try Listener(ListenAddress(host: "127.0.0.1", port: settings.port))
        poller = try Poller()
        tls = try settings.certificate.map { try TLSContext(TLSSettings(certificates: [$0])) }
        delay = settings.delay
        errors = ErrorShare(percent: settings.errorsPercent)
        try poller.watchInput(of: listener.descriptor, for: PollToken(slot: 0, generation: 0))
        print(listener.address.port)
        fflush(nil)
    }

    func run() throws {
        var events: [PollEvent] = []
        while true {
            let timeout = waiting.isEmpty ? nil : waiting[answeredCount].deadline - .now
            try poller.wait(timeout: timeout, into: &events)
            for event in events {
                if event.token.slot == 0 {
                    acceptAll()
                } else if let connection = connections[event.token.slot] {
                    advance(connection, event.readiness)
                }
            }
            answerDue()
        }
    }

    private func acceptAll() {
        while true {
            guard case .connection(let descriptor, _) = listener.accept() else { return }
            lastSlot += 1
            var socket = Socket(descriptor)
            if let tls, !socket.secure(with: tls) { continue }
            let connection = SinkConnection(socket, lastSlot)
            let token = PollToken(slot: lastSlot, generation: 0)
            guard (try? poller.watchChanges(of: connection.descriptor, for: token)) != nil else {
                continue
            }
            connections[lastSlot] = connection
        }
    }

    private func advance(_ connection: SinkConnection, _ readiness: Readiness) {
        do {
            while true {
                switch try connection.read() {
                case .incomplete: return
                case .ended: return close(connection)
                case .answering:
                    // The client gave up.
                    if readiness.contains(.gone) { close(connection) }
                    return
                case .request:
                    guard delay > .zero else {
                        try connection.answer(errors.next())
                        continue
                    }
                    waiting.append((connection, .now + delay))
                    return
                }
            }
        } catch {
            close(connection)
        }
    }

    private func answerDue() {
        while answeredCount < waiting.count, waiting[answeredCount].deadline <= .now {
            let connection = waiting[answeredCount].connection
            answeredCount += 1
            guard connections[connection.slot] != nil else { continue }
            guard (try? connection.answer(errors.next())) != nil else {
                close(connection)
                continue
            }
            advance(connection, [])
        }
        // Also when it never runs empty.
        if answeredCount == waiting.count || answeredCount > 1024 {
            waiting.removeFirst(answeredCount)
            answeredCount = 0
        }
    }

    private func close(_ connection: SinkConnection) {
        connections[connection.slot] = nil
    }
}

/// Evenly spread, so that all runs have the same errors.
private struct ErrorShare {
    let percent: Double
    private var owed = 0.0
    private var count = 0

    init(percent: Double) {
        self.percent = percent
    }

    mutating func next() -> SinkAnswer {
        owed += percent
        guard owed >= 100 else { return .stored }
        owed -= 100
        count += 1
        return SinkAnswer.errors[count % SinkAnswer.errors.count]
    }
}

struct SinkAnswer {
    let bytes: [UInt8]

    private init(_ status: String, _ body: String = "") {
        bytes = Array(
            ("HTTP/1.1 \(status)\r\nx-log-requestid: 0123456789ABCDEF01234567\r\n"
                + "content-length: \(body.utf8.count)\r\n\r\n\(body)").utf8
        )
    }

    private init(_ status: String, code: String) {
        self.init(status, #"{"errorCode":"\#(code)","errorMessage":"of the benchmark's sink"}"#)
    }

    static let stored = SinkAnswer("200 OK")
    static let denied = SinkAnswer("404 Not Found", code: "LogStoreNotExist")
    /// A quota's refusal comes after each failure of the server.
    static let errors = [
        SinkAnswer("500 Internal Server Error", code: "InternalServerError"),
        SinkAnswer("403 Forbidden", code: "WriteQuotaExceed"),
        SinkAnswer("503 Service Unavailable", code: "ServerBusy"),
        SinkAnswer("403 Forbidden", code: "ShardWriteQuotaExceed"),
    ]
}

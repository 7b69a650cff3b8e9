import CSystem
import Glibc
import Net
import System

/// Posts at a fixed rate, whatever the answers take, and prints how long they took.
///
/// As in wrk2, each request has an intended time, and its latency counts from there: a request that
/// waits because its connection still waits for an answer was late, too. A load that sends the next
/// request only after an answer sends nothing while the gateway stalls, and so leaves out exactly
/// the slow ones.
func runOpenLoad(requests directory: String, port: UInt16, _ options: Options) {
    let requests = readRequests(directory)
    do throws(SystemError) {
        try Worker("open") {
            do {
                let load = try OpenLoad(
                    requests,
                    port: port,
                    connections: Int(options.number("connections", or: 128)),
                    rate: options.number("rate", or: 1000)
                )
                try load.run(seconds: options.number("seconds", or: 10))
                load.tell()
            } catch {
                fatalError("the load: \(error)")
            }
        }
        .join()
    } catch {
        fatalError("the load cannot start: \(error)")
    }
}

/// The files 0.request, 1.request and so on: whole requests.
private func readRequests(_ directory: String) -> [[UInt8]] {
    var requests: [[UInt8]] = []
    while let file = fopen("\(directory)/\(requests.count).request", "r") {
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        let count = ftell(file)
        rewind(file)
        requests.append(
            [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                filled = fread(buffer.baseAddress, 1, count, file)
            }
        )
    }
    guard !requests.isEmpty else { fatalError("no requests in \(directory)") }
    return requests
}

/// One thread. A timer wakes it at the next intended time, to the microsecond: epoll's own timeout
/// has milliseconds.
private final class OpenLoad {
    private static let timerSlot = UInt32.max
    /// How long answers may come after the last request.
    private static let patience: Duration = .seconds(20)

    private let requests: [[UInt8]]
    private let connections: [OpenConnection]
    private let rate: Double
    private let poller: Poller
    private let timer: OwnedDescriptor
    private var began = Moment.now
    private var latencies = Latencies()
    private var sent = 0
    private var answered = 0
    private var refused = 0
    private var broken = 0

    init(_ requests: [[UInt8]], port: UInt16, connections count: Int, rate: Double) throws {
        guard count > 0, rate > 0 else { fatalError("a load needs connections and a rate") }
        self.requests = requests
        self.rate = rate
        poller = try Poller()
        timer = OwnedDescriptor(
            taking: try system("timerfd_create") { timerfd_create(CLOCK_MONOTONIC, O_NONBLOCK) }
        )
        connections = (0..<count).map { OpenConnection(slot: UInt32($0), port: port) }
        try poller.watchSignals(
            of: timer.number,
            for: PollToken(slot: Self.timerSlot, generation: 0)
        )
        for connection in connections { try connection.open(poller) }
    }

    func run(seconds: Double) throws {
        began = .now
        let total = Int(seconds * rate)
        let end = began + .nanoseconds(Int64(seconds * 1e9)) + Self.patience
        var events: [PollEvent] = []
        while answered + broken < total, .now < end {
            while sent < total, time(of: sent) <= .now {
                // Intended times go around, so each connection has its share of the rate.
                let connection = connections[sent % connections.count]
                connection.due.append(sent)
                sent += 1
                if connection.due.count == 1 { begin(connection) }
            }
            setTimer(sent < total ? time(of: sent) : end)
            try poller.wait(timeout: nil, into: &events)
            for event in events where event.token.slot != Self.timerSlot {
                let connection = connections[Int(event.token.slot)]
                guard event.token.generation == connection.generation else { continue }
                advance(connection)
            }
        }
        // The others were not answered at all.
        for connection in connections {
            for number in connection.due { latencies.add(.now - time(of: number)) }
        }
    }

    func tell() {
        let took = (Moment.now - began) / .seconds(1)
        print(
            "open requests=\(answered) seconds=\(took) asked=\(rate)",
            "errors=\(latencies.count - answered) not_2xx=\(refused)",
            "p50_ms=\(latencies.milliseconds(of: 0.5)) p99_ms=\(latencies.milliseconds(of: 0.99))",
            "p999_ms=\(latencies.milliseconds(of: 0.999))",
            "max_ms=\(latencies.longest / .milliseconds(1))"
        )
    }

    private func time(of number: Int) -> Moment {
        began + .nanoseconds(Int64(Double(number) / rate * 1e9))
    }

    private func setTimer(_ moment: Moment) {
        let (seconds, rest) = moment.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        var setting = itimerspec()
        setting.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
        timerfd_settime(timer.number, CInt(TFD_TIMER_ABSTIME), &setting, nil)
    }

    private func begin(_ connection: OpenConnection) {
        while let number = connection.due.first {
            let progress = connection.begin(requests[number % requests.count], poller)
            guard progress != .waiting else { return }
            end(number, on: connection, progress)
        }
    }

    private func advance(_ connection: OpenConnection) {
        let progress = connection.advance()
        guard progress != .waiting, let number = connection.due.first else { return }
        end(number, on: connection, progress)
        begin(connection)
    }

    private func end(
        _ number: Int,
        on connection: OpenConnection,
        _ progress: OpenConnection.Progress
    ) {
        connection.due.removeFirst()
        latencies.add(.now - time(of: number))
        if case .answered(let status) = progress {
            answered += 1
            if status / 100 != 2 { refused += 1 }
        } else {
            broken += 1
        }
    }
}

import Glibc
package import Net
package import System

/// A server of HTTP/1.1 and 1.0 over TCP: one loop thread per core, each with its own listener.
///
/// It parses, frames, limits and answers; handlers give requests their meaning.
package final class HTTPServer: Sendable {
    /// The address with its actual port.
    package let address: ListenAddress
    /// A service manager opened its socket and keeps it open.
    package let isPassed: Bool

    private let name: String
    let ports: [LoopPort]
    private let budgets: Budgets
    private let connectionCount: ConnectionCount
    private let largeRequests: LargeRequests
    private let threads: Locked<Threads>

    private struct Threads {
        var ofLoops: [Worker] = []
        var ofLargeRequests: [Worker] = []
    }

    /// Binds the address and starts serving. `makeHandler` is called once for each loop thread and
    /// each large-request thread, on that thread.
    package init(
        _ configuration: Configuration,
        makeHandler: @escaping @Sendable () -> any RequestHandler
    ) throws(ListenError) {
        var limits = configuration.limits
        let common = configuration.common
        limits.connections =
            common?.connections
            ?? Self.connections(
                within: limits.connections,
                descriptors: DescriptorLimit.raise(),
                configuration.journal
            )
        budgets = Budgets(limits, within: common?.budgets)
        connectionCount = ConnectionCount(
            limit: limits.connections,
            perNeighbourhood: limits.connectionsPerAddress,
            within: common?.connectionCount
        )
        let first =
            if let passed = configuration.passed { passed } else {
                try Listener(configuration.listen)
            }
        address = first.address
        isPassed = first.isPassed
        name = configuration.name
        var listeners = [first]
        while listeners.count < configuration.loops {
            listeners.append(first.isPassed ? first : try Listener(joining: first))
        }
        threads = Locked(Threads())
        do throws(SystemError) {
            largeRequests = try LargeRequests(
                threads: configuration.largeRequestThreads,
                budget: budgets.large,
                longestWait: limits.largeWait
            )
            var ports: [LoopPort] = []
            for _ in listeners {
                ports.append(try LoopPort(budgets: budgets, connectionCount: connectionCount))
            }
            self.ports = ports
            for warning in configuration.tls?.warnings(at: .now) ?? [] {
                configuration.journal.warning("\(warning)", ["server": configuration.name])
            }
            try startLargeRequests(configuration, makeHandler)
            try startLoops(on: listeners, configuration, limits: limits, makeHandler)
        } catch {
            throw .system(configuration.listen, error)
        }
    }

    private func startLargeRequests(
        _ configuration: Configuration,
        _ makeHandler: @escaping @Sendable () -> any RequestHandler
    ) throws(SystemError) {
        // The kernel keeps 15 bytes of a thread's name.
        let kind = configuration.name.split(separator: "-").last ?? ""
        for index in 0..<configuration.largeRequestThreads {
            let worker = try Worker("\(kind)-large-\(index)", nice: configuration.nice) {
                [largeRequests] in
                largeRequests.run(index, makeHandler())
            }
            threads.withLock { $0.ofLargeRequests.append(worker) }
        }
    }

    private func startLoops(
        on listeners: [Listener],
        _ configuration: Configuration,
        limits: Limits,
        _ makeHandler: @escaping @Sendable () -> any RequestHandler
    ) throws(SystemError) {
        let (name, journal) = (configuration.name, configuration.journal)
        let notices = RefusalNotices(server: name, limits: limits, journal: journal)
        for (index, listener) in listeners.enumerated() {
            let port = ports[index]
            let acceptor = Acceptor(
                listener: listener,
                sharing: listener.isPassed ? ports : [],
                tls: configuration.tls,
                proxies: configuration.proxies,
                journal: journal,
                notices: notices
            )
            let worker = try Worker("\(name)-\(index)", nice: configuration.nice) {
                [largeRequests = configuration.largeRequestThreads > 0 ? largeRequests : nil] in
                let loop = EventLoop(
                    port: port,
                    acceptor: acceptor,
                    limits: limits,
                    handler: makeHandler(),
                    largeRequests: largeRequests
                )
                do throws(SystemError) {
                    try loop.run()
                } catch {
                    journal.error("an HTTP loop ended", ["loop": index, "reason": "\(error)"])
                }
            }
            threads.withLock { $0.ofLoops.append(worker) }
        }
    }

    deinit { stop(within: .zero) }

    /// Stops accepting, lets requests in progress finish, closes each connection after its answer,
    /// and cuts the rest at the deadline. Returns when all threads have ended; a worker finishes
    /// its current large request.
    package func stop(within time: Duration) {
        Self.stop([self], within: time)
    }

    /// Stops several servers within the same time. For `lastRequests` of it, a connection without a
    /// request may bring one more, whose answer tells the client that the connection ends: a
    /// request that is on its way when its connection is closed would be lost.
    package static func stop(
        _ servers: [HTTPServer],
        within time: Duration,
        lastRequests: Duration = .zero
    ) {
        let begin = Moment.now
        let threads = servers.map {
            $0.beginStop(by: begin + time, lastRequests: begin + min(time, lastRequests))
        }
        for worker in threads.flatMap(\.ofLoops) { worker.join() }
        for server in servers { server.largeRequests.end() }
        for worker in threads.flatMap(\.ofLargeRequests) { worker.join() }
    }

    private func beginStop(by deadline: Moment, lastRequests: Moment) -> Threads {
        precondition(!ports.contains(where: \.isOnLoop), "a loop cannot wait for its own end")
        let threads = threads.withLock { threads in
            defer { threads = Threads() }
            return threads
        }
        let stop = LoopPort.Message.stop(by: deadline, lastRequests: lastRequests)
        for port in ports { port.mailbox.post(stop) }
        return threads
    }

    /// The loops with their threads' names; a callback shows that one takes its turns.
    package var loops: [(name: String, thread: any CallbackThread)] {
        ports.enumerated().map { ("\(name)-\($0)", $1) }
    }

    package var counters: Counts<HTTPCounter> {
        var counters = largeRequests.counters.counts
        counters[.openConnections] = connectionCount.count
        counters[.heldHeads] = budgets.heads.inUse
        counters[.heldBodies] = budgets.bodies.held(besides: ports.map(\.credit))
        counters[.heldAnswers] = budgets.answers.inUse
        counters[.largeWaiting] = largeRequests.waitingCount
        for port in ports { counters += port.counters.counts }
        return counters
    }

    /// Lowers the limit of connections to the descriptors that the process has.
    static func connections(
        within wanted: Int,
        descriptors: Int,
        _ journal: Journal
    ) -> Int {
        // Files, the queue, outgoing connections and connections being refused need descriptors
        // too. Without a reserve, nothing is delivered, no refusal is answered, and operators are
        // locked out.
        let possible = max(1, descriptors - max(48, min(1024, descriptors / 4)))
        guard wanted > possible else { return wanted }
        let event = "fewer connections than configured: the limit of open files is too low"
        let fields: KeyValuePairs<String, any Sendable> = [
            "configured": wanted, "possible": possible, "open_files": descriptors,
            "remedy": "raise LimitNOFILE of the service, or ulimit -n, or lower limits.connections",
        ]
        // A default limit is no wish of the operator's, and few machines have so many connections.
        if wanted == Limits().connections {
            journal.debug(event, fields)
        } else {
            journal.warning(event, fields)
        }
        return possible
    }

    package struct Configuration: Sendable {
        package var listen: ListenAddress
        /// A socket that listens there already; nil opens one.
        package var passed: Listener?
        /// The prefix of the loop threads' names: "http-0", "http-1".
        package var name: String
        package var loops: Int
        /// Worker threads ("http-large-0") for requests that `RequestHandler.prepare` gives them.
        /// Zero: the loops run all requests.
        package var largeRequestThreads = 0
        /// The nice value of its threads; above 0 they yield to the process's others on busy cores.
        package var nice = 0
        package var limits: Limits
        /// nil serves plain HTTP.
        package var tls: TLSContext?
        /// nil trusts no proxy.
        package var proxies: ProxyTrust?
        /// If set, it replaces the limits on connections and held bytes in `limits`, and counts
        /// them for all servers that share it.
        package var common: CommonLimits?
        package var journal: Journal

        package init(
            listen: ListenAddress,
            name: String = "http",
            loops: Int = coreCount,
            limits: Limits = Limits(),
            tls: TLSContext? = nil,
            journal: Journal
        ) {
            self.listen = listen
            self.name = name
            self.loops = max(1, loops)
            self.limits = limits
            self.tls = tls
            self.journal = journal
        }
    }

    /// Bounds on a client's use of bytes, counts and time.
    package struct Limits: Sendable, Equatable {
        /// Without the line end; more is 414.
        package var requestLineBytes = 8 << 10
        /// From the method to the blank line; more is 431.
        package var headBytes = 16 << 10
        /// More is 431.
        package var headFields = 100
        /// Chunk extensions of one body; more is 400.
        package var chunkExtensionBytes = 1 << 10
        /// Trailer fields of one body; more is 400.
        package var trailerBytes = 4 << 10
        /// Incomplete heads, heads with incomplete bodies, and TLS memory of handshakes and partial
        /// records, over all loops. More is 503, or the end of a handshake. One address has half.
        package var heldHeadBytes = 32 << 20
        /// Received bytes of unanswered requests' bodies, over all loops; more is 503.
        package var inFlightBodyBytes = 64 << 20
        /// The body of one answer. More is 500; a handler that knows the size earlier refuses
        /// earlier.
        package var answerBytes = 4 << 20
        /// Answers and streams that clients have not read, over all loops. One address has half.
        /// Beyond it the server answers 503 or closes the connection.
        package var unsentAnswerBytes = 32 << 20
        /// The bound of an answer's head, which may repeat the request's origin.
        package static let answerHeadBytes = 16 << 10
        /// The largest answer with its head. `unsentAnswerBytes` must have room for it.
        package var largestAnswerBytes: Int {
            // Avoids overflow for an unlimited `answerBytes`.
            min(answerBytes, .max - Self.answerHeadBytes) + Self.answerHeadBytes
        }
        /// The body of a refused request is read and dropped up to this size, so that the
        /// connection survives. A longer one ends it. Dropping takes time but no memory.
        package var droppedBodyBytes = 1 << 20
        /// Over all loops; more is 503.
        package var connections = 20_000
        /// From one IPv4 address or one IPv6 /64; more is 503.
        package var connectionsPerAddress = 1024
        /// From the first to the last byte of a head; more is 408. Also the limit of a TLS
        /// handshake, from the start of its connection.
        package var headTime: Duration = .seconds(10)
        /// Within each such span a body must bring `bodyProgressBytes`, or its end; else 408.
        package var bodyTime: Duration = .seconds(10)
        package var bodyProgressBytes = 1 << 10
        /// A large request that waits longer for a worker thread is refused with 503.
        package var largeWait: Duration = .seconds(10)
        /// The average rate of a body in bytes a second, after the first `bodyTime`; less is 408.
        /// It bounds how long a body of any length holds its memory.
        package var bodyRateMin = 1 << 10
        /// The same rate while more than half of `inFlightBodyBytes` is used: slow bodies must then
        /// make room.
        package var scarceBodyRateMin = 8 << 10
        /// A connection without a request is closed after this time.
        package var idleTime: Duration = .seconds(75)
        /// A client that takes no byte of its answer for this long is disconnected.
        package var writeTime: Duration = .seconds(30)
        /// The average rate at which a client must take its answer, in bytes a second, after the
        /// first `writeTime`; a slower client is disconnected.
        package var answerRateMin = 4 << 10
        /// How long a closing connection waits for its client: since its last bytes, and in all.
        package var lingerTime: Duration = .seconds(2)
        package var lingerTimeMax: Duration = .seconds(15)
        /// A client that sends more than this during that wait is cut off.
        package var lingerBytes = 16 << 20

        package init() {}
    }

    /// Limits that servers share: a second port must not double what clients can take.
    package struct CommonLimits: Sendable {
        let connections: Int
        let budgets: Budgets
        let connectionCount: ConnectionCount

        package init(_ limits: Limits, _ journal: Journal) {
            connections = HTTPServer.connections(
                within: limits.connections,
                descriptors: DescriptorLimit.raise(),
                journal
            )
            budgets = Budgets(limits)
            connectionCount = ConnectionCount(
                limit: connections,
                perNeighbourhood: limits.connectionsPerAddress
            )
        }
    }
}

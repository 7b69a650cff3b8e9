import Glibc
package import Net
package import System

/// A server of HTTP/1.1 and 1.0 over TCP: one loop thread per core, each with its own listener.
///
/// It parses, frames, limits and answers; handlers give requests their meaning.
package final class HTTPServer: Sendable {
    /// The address with its actual port.
    package let address: ListenAddress

    private let ports: [LoopPort]
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
        let first = try Listener(configuration.listen)
        address = first.address
        var listeners = [first]
        while listeners.count < configuration.loops {
            listeners.append(try Listener(joining: first))
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
            try startLoops(configuration, limits, listeners, makeHandler)
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
        _ configuration: Configuration,
        _ limits: Limits,
        _ listeners: [Listener],
        _ makeHandler: @escaping @Sendable () -> any RequestHandler
    ) throws(SystemError) {
        let (name, journal) = (configuration.name, configuration.journal)
        let notices = RefusalNotices(server: name, limits: limits, journal: journal)
        for (index, listener) in listeners.enumerated() {
            let port = ports[index]
            let acceptor = Acceptor(
                listener: listener,
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

    /// Stops several servers within the same time.
    package static func stop(_ servers: [HTTPServer], within time: Duration) {
        let deadline = Moment.now + time
        let threads = servers.map { $0.beginStop(by: deadline) }
        for worker in threads.flatMap(\.ofLoops) { worker.join() }
        for server in servers { server.largeRequests.end() }
        for worker in threads.flatMap(\.ofLargeRequests) { worker.join() }
    }

    private func beginStop(by deadline: Moment) -> Threads {
        precondition(!ports.contains(where: \.isOnLoop), "a loop cannot wait for its own end")
        let threads = threads.withLock { threads in
            defer { threads = Threads() }
            return threads
        }
        for port in ports { port.mailbox.post(.stop(by: deadline)) }
        return threads
    }

    package var counters: Counts<HTTPCounter> {
        var counters = largeRequests.counters.counts
        counters[.openConnections] = connectionCount.count
        counters[.heldHeads] = budgets.heads.inUse
        counters[.heldBodies] = budgets.bodies.inUse
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
        // A default limit is no wish of the operator's, and most machines never have so many
        // connections.
        if wanted == Limits().connections {
            journal.debug(event, fields)
        } else {
            journal.warning(event, fields)
        }
        return possible
    }
}

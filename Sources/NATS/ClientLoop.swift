import Net
import System

/// The client's thread: connects, carries messages both ways, and connects again.
struct ClientLoop: ~Copyable {
    /// How long a server that is about to stop is still used, if requests never pause.
    private static let leaveTime = Duration.seconds(2)
    private static let pauseMin = Duration.milliseconds(100)
    private static let pauseMax = Duration.seconds(2)

    private let settings: NATSSettings
    private let core: ClientCore
    private let journal: Journal
    private let lookup = SystemLookup()
    private var targets: ServerTargets
    /// Why the servers of the present round could not be used.
    private var failures: [NATSError] = []
    private var isReported = false

    init(_ settings: NATSSettings, _ core: ClientCore, _ journal: Journal) {
        self.settings = settings
        self.core = core
        self.journal = journal
        targets = ServerTargets(settings.servers)
    }

    consuming func run() {
        var pause = Self.pauseMin
        while !core.isStopping {
            let target = targets.next()
            do throws(NATSError) {
                let connection = try connect(target)
                failures = []
                pause = Self.pauseMin
                core.connected(target.address, connection.info)
                if isReported { journal.info("broker reached", ["server": target.address]) }
                isReported = false
                try serve(connection, target)
            } catch {
                guard !core.isStopping else { break }
                report(error, target)
            }
            guard failures.count >= targets.count else { continue }
            failures = []
            core.wake.wait(timeout: pause * Double.random(in: 0.5...1))
            pause = min(pause * 2, Self.pauseMax)
        }
        core.disconnected(NATSError(.disconnected, "the client was closed"))
    }

    /// Tells callers, and the operator once for each outage.
    private mutating func report(_ error: NATSError, _ target: ServerTarget) {
        failures.append(error)
        // One server that is wrong does not matter while others may be right.
        let areAllWrong =
            failures.count >= targets.count && failures.allSatisfy { $0.kind == .refused }
        let kind = areAllWrong ? NATSError.Kind.refused : .disconnected
        core.disconnected(NATSError(kind, "\(target.address): \(error)"))
        guard !isReported else { return }
        isReported = true
        journal.warning("broker lost", ["server": target.address, "reason": error])
    }

    // MARK: - Connecting

    private mutating func connect(_ target: ServerTarget) throws(NATSError) -> ServerConnection {
        let deadline = Moment.now + settings.connectTimeout
        let core = core
        let mayGoOn: () throws(NATSError) -> Duration = { () throws(NATSError) in
            guard !core.isStopping else { throw NATSError(.disconnected, "the client was closed") }
            let left = deadline - .now
            guard left > .zero else {
                throw NATSError(.timeout, "the server did not answer in time")
            }
            return left
        }
        var problem = NATSError(.disconnected, "its name has no address")
        for address in try addresses(of: target.address, mayGoOn) {
            do throws(NATSError) {
                let connection = try ServerConnection.open(
                    target,
                    at: address,
                    settings,
                    subscribingTo: core.inboxPrefix,
                    core.wake,
                    until: mayGoOn
                )
                targets.learn(connection.info.others, from: target, isSecure: connection.isSecure)
                return connection
            } catch {
                problem = error
                _ = try mayGoOn()
            }
        }
        throw problem
    }

    private func addresses(
        of server: NATSServerAddress,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) -> [SocketAddress] {
        if let address = SocketAddress(host: server.host, port: server.port) { return [address] }
        let found: Promise<[IPAddress]?>
        do throws(SystemError) {
            found = try Promise()
        } catch {
            throw NATSError(.disconnected, "\(error)")
        }
        guard lookup.begin(server.host, whenDone: { found.bring($0) }) else {
            throw NATSError(.disconnected, "too many lookups of names hang")
        }
        while true {
            let left = try mayGoOn()
            // Short waits: a stop does not wake it.
            if let addresses = found.wait(atMost: min(left, .milliseconds(200))) {
                return (addresses ?? []).compactMap {
                    SocketAddress(host: "\($0)", port: server.port)
                }
            }
        }
    }

    // MARK: - Connected

    /// Returns when the server is about to stop, and throws when the connection is lost.
    private mutating func serve(
        _ connection: ServerConnection,
        _ target: ServerTarget
    ) throws(NATSError) {
        var leaveBy: Moment?
        while !core.isStopping {
            for bytes in core.takeOutput() { connection.send(bytes) }
            _ = try connection.write()
            for operation in try connection.read() {
                switch operation {
                case .message(let message, let subscription):
                    core.deliver(message, from: subscription)
                case .error(let text): try handle(text)
                case .info:
                    targets.learn(
                        connection.info.others,
                        from: target,
                        isSecure: connection.isSecure
                    )
                    core.connected(target.address, connection.info)
                case .ping, .pong, .ok: break
                }
            }
            let silence = Moment.now - connection.lastReceived
            guard silence < settings.silenceMax * 3 else {
                throw NATSError(.disconnected, "nothing has come from the server for \(silence)")
            }
            if silence >= settings.silenceMax { connection.ping() }
            if connection.info.isLeaving, leaveBy == nil { leaveBy = .now + Self.leaveTime }
            if let leaveBy {
                let end = NATSError(.disconnected, "the server is about to stop")
                guard leaveBy > .now, !core.leave(end) else { throw end }
            }
            _ = try connection.write()
            let untilPing = settings.silenceMax * (connection.pingedAt == nil ? 1 : 3) - silence
            let time = leaveBy == nil ? untilPing : min(untilPing, .milliseconds(5))
            try connection.sleep(atMost: max(time, .milliseconds(1)))
            core.wake.clear()
        }
    }

    private func handle(_ text: String) throws(NATSError) {
        // The server ends the connection after all others.
        guard text.lowercased().hasPrefix("permissions violation") else {
            throw NATSError(.disconnected, "the server ended the connection: \(text)")
        }
        core.refused(text)
    }
}

/// The servers that may be asked, in turn.
struct ServerTargets {
    private static let max = 64

    private var all: [ServerTarget]
    private var index = 0

    init(_ servers: [NATSServerAddress]) {
        // Gateways spread over the servers.
        all = servers.shuffled().map { ServerTarget(address: $0, certificateHost: $0.host) }
    }

    mutating func next() -> ServerTarget {
        let target = all[index]
        index = (index + 1) % all.count
        return target
    }

    var count: Int { all.count }

    /// Adds the servers that another one names. They are trusted as it is: a connection to them uses TLS if its did.
    mutating func learn(_ others: [NATSServerAddress], from target: ServerTarget, isSecure: Bool) {
        for other in others where all.count < Self.max {
            let isKnown = all.contains {
                $0.address.host == other.host && $0.address.port == other.port
            }
            guard !isKnown else { continue }
            let isNumeric = SocketAddress(host: other.host, port: 0) != nil
            all.append(
                ServerTarget(
                    address: NATSServerAddress(
                        host: other.host,
                        port: other.port,
                        wantsTLS: isSecure
                    ),
                    certificateHost: isNumeric ? target.certificateHost : other.host
                )
            )
        }
    }
}

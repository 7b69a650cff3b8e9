import Net
import System

/// The client's thread: connects, carries messages both ways, and connects again.
struct ClientLoop: ~Copyable {
    /// How long a server that is about to stop is still used, if requests never pause.
    private static let leaveTime = Duration.seconds(2)
    private static let pauseMin = Duration.milliseconds(100)
    private static let pauseMax = Duration.seconds(2)
    /// A server that ends connections sooner counts as one that cannot be used.
    private static let steadyTime = Duration.seconds(1)

    private let settings: NATSSettings
    private let core: ClientCore
    private let journal: Journal
    private let lookup = SystemLookup()
    private var targets: ServerTargets
    /// What the operator knows about this outage.
    private var reported: NATSError.Kind?

    init(_ settings: NATSSettings, _ core: ClientCore, _ journal: Journal) {
        self.settings = settings
        self.core = core
        self.journal = journal
        targets = ServerTargets(settings.servers)
    }

    consuming func run() {
        var pause = Self.pauseMin
        var attempts = 0
        while !core.isStopping {
            let target = targets.next()
            var since: Moment?
            do throws(NATSError) {
                let connection = try connect(target)
                since = .now
                targets.note(nil, of: target)
                if reported != nil { journal.info("broker reached", ["server": target.address]) }
                reported = nil
                // An earlier call of changeServer meant the server before this one.
                _ = core.takeLeave()
                core.connected(target.address, connection.info)
                try serve(connection, target)
            } catch {
                guard !core.isStopping else { break }
                report(error, target)
            }
            if let since, .now - since >= Self.steadyTime { (attempts, pause) = (0, Self.pauseMin) }
            attempts += 1
            guard attempts >= targets.count else { continue }
            attempts = 0
            core.wake.wait(timeout: pause * Double.random(in: 0.5...1))
            pause = min(pause * 2, Self.pauseMax)
        }
        core.disconnected(.disconnected("the client was closed"))
    }

    /// Tells callers, and the operator once for each outage, and when retries turn out not to help.
    private mutating func report(_ error: NATSError, _ target: ServerTarget) {
        targets.note(error, of: target)
        // One server that is wrong does not matter while others may be right.
        let kind = targets.allRefuse ? NATSError.Kind.refused : .disconnected
        core.disconnected(NATSError(kind, "\(target.address): \(error)"))
        guard reported == nil || reported == .disconnected && kind == .refused else { return }
        reported = kind
        journal.warning("broker lost", ["server": target.address, "reason": error])
    }

    // MARK: - Connecting

    private mutating func connect(_ target: ServerTarget) throws(NATSError) -> ServerConnection {
        let mayGoOn = timeLeft(until: .now + settings.connectTimeout)
        var problem = NATSError.disconnected("its name has no address")
        let addresses = try addresses(of: target.address, mayGoOn)
        for (index, address) in addresses.enumerated() {
            do throws(NATSError) {
                // An address that does not answer leaves time for the others.
                let share = try mayGoOn() / (addresses.count - index)
                let connection = try ServerConnection.open(
                    target,
                    at: address,
                    settings,
                    subscribingTo: core.inboxPrefix,
                    core.wake,
                    until: timeLeft(until: .now + share)
                )
                targets.learn(connection.others, from: target, isSecure: connection.isSecure)
                return connection
            } catch {
                problem = error
                _ = try mayGoOn()
            }
        }
        throw problem
    }

    private func timeLeft(until deadline: Moment) -> () throws(NATSError) -> Duration {
        { [core] () throws(NATSError) in
            guard !core.isStopping else { throw .disconnected("the client was closed") }
            let left = deadline - .now
            guard left > .zero else {
                throw .timeout("the server did not answer in time")
            }
            return left
        }
    }

    private func addresses(
        of server: NATSServerAddress,
        _ mayGoOn: () throws(NATSError) -> Duration
    ) throws(NATSError) -> [SocketAddress] {
        if let address = SocketAddress(host: server.host, port: server.port) { return [address] }
        let found = try NATSError.onSystem { () throws(SystemError) in
            try Promise<[IPAddress]?>()
        }
        guard lookup.begin(server.host, whenDone: { found.bring($0) }) else {
            throw .disconnected("too many lookups of names hang")
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
            if core.takeLeave(), targets.count > 1 {
                throw .disconnected("it is left for another server, which may reach more of them")
            }
            // What waits here is bounded, so the connection takes it only when it can send it.
            if !connection.hasOutput { connection.send(core.takeOutput()) }
            _ = try connection.write()
            let mayHaveMore = try connection.read { operation throws(NATSError) in
                switch operation {
                case .message(let message, let subscription):
                    core.deliver(message, from: subscription)
                case .error(let text): try handle(text)
                case .info:
                    targets.learn(connection.others, from: target, isSecure: connection.isSecure)
                    core.connected(target.address, connection.info)
                case .ping, .pong, .ok: break
                }
            }
            let wakeAt = try probe(connection)
            if connection.info.isLeaving, leaveBy == nil { leaveBy = .now + Self.leaveTime }
            if let leaveBy {
                let end = NATSError.disconnected("the server is about to stop")
                guard leaveBy > .now, connection.hasOutput || !core.leave(end) else { throw end }
            }
            _ = try connection.write()
            // TLS may hold bytes that were read from the socket already.
            guard !mayHaveMore else { continue }
            let time = leaveBy == nil ? wakeAt - .now : min(wakeAt - .now, .milliseconds(5))
            try connection.sleep(atMost: max(time, .milliseconds(1)))
            core.wake.clear()
        }
    }

    /// Pings a silent server, and gives it up if nothing comes then. Returns when to look again.
    private func probe(_ connection: ServerConnection) throws(NATSError) -> Moment {
        let last = connection.lastProgress
        guard .now - last >= settings.silenceMax else { return last + settings.silenceMax }
        // From the ping on: this process may have stood still itself.
        let deadline = max(connection.ping(), last) + settings.silenceMax * 2
        guard .now < deadline else {
            throw .disconnected("nothing has come from the server for \(.now - last)")
        }
        return deadline
    }

    private func handle(_ text: String) throws(NATSError) {
        // The server ends the connection after all others.
        guard text.lowercased().hasPrefix("permissions violation") else {
            throw .disconnected("the server ended the connection: \(text)")
        }
        core.refused(text)
    }
}

/// The servers that may be asked, in turn.
struct ServerTargets {
    private static let learnedMax = 64

    private let configured: [ServerTarget]
    private var learned: [ServerTarget] = []
    private var index = 0
    /// Why a server could not be used the last time.
    private var failures: [ServerTarget: NATSError] = [:]

    init(_ servers: [NATSServerAddress]) {
        // Gateways spread over the servers.
        configured = servers.shuffled().map { ServerTarget(address: $0, certificateHost: $0.host) }
    }

    private var all: [ServerTarget] { configured + learned }

    var count: Int { configured.count + learned.count }

    mutating func next() -> ServerTarget {
        let target = all[index % count]
        index = (index + 1) % count
        return target
    }

    /// nil: the server could be used.
    mutating func note(_ failure: NATSError?, of target: ServerTarget) {
        failures[target] = failure
    }

    var allRefuse: Bool { all.allSatisfy { failures[$0]?.kind == .refused } }

    /// Replaces the learned servers: addresses in a cluster come and go. They are trusted as this
    /// server is, and use TLS if its connection did.
    mutating func learn(_ others: [NATSServerAddress], from target: ServerTarget, isSecure: Bool) {
        // A server need not tell about others.
        guard !others.isEmpty else { return }
        learned = []
        for other in others where learned.count < Self.learnedMax {
            let isKnown = all.contains {
                $0.address.host == other.host && $0.address.port == other.port
            }
            guard !isKnown else { continue }
            let isNumeric = SocketAddress(host: other.host, port: 0) != nil
            learned.append(
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
        let all = all
        failures = failures.filter { all.contains($0.key) }
    }
}

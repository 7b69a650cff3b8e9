import Glibc
import Net
import System

extension EventLoop {
    /// Connections that one round accepts before others get a turn.
    private static let acceptsPerRound = 64
    /// The limit of connections that are refused with an answer at the same time, so that the client can read it.
    private static let turnedAwayMax = 256
    private static let acceptPause = Duration.milliseconds(100)

    func watchListener() throws(SystemError) {
        guard let listener = acceptor.listener else { return }
        try port.poller.watchInput(
            of: listener.descriptor,
            for: ConnectionTable.token(ofFixedSlot: ConnectionTable.listener)
        )
    }

    func acceptWaiting(upTo count: Int = acceptsPerRound) {
        guard let listener = acceptor.listener, !acceptor.isPaused else { return }
        for _ in 0..<count {
            do throws(SystemError) {
                switch listener.accept() {
                case .connection(let socket, let peer): try welcome(socket, from: peer)
                case .nobody: return
                case .exhausted(let error): throw error
                }
            } catch {
                return pauseAccepting(listener, because: error)
            }
        }
    }

    /// Runs after a pause. Connections that could not be accepted are still in the backlog.
    func resumeAccepting() {
        guard let listener = acceptor.listener else { return }
        acceptor.isPaused = false
        do throws(SystemError) {
            try watchListener()
        } catch {
            pauseAccepting(listener, because: error)
        }
    }

    // The listener stays readable during a pause, so watching it would spin. Connections that end meanwhile free their
    // descriptors.
    private func pauseAccepting(_ listener: Listener, because error: SystemError) {
        acceptor.isPaused = true
        tally.acceptPauses.add()
        port.poller.forget(listener.descriptor)
        wheel.arm(ConnectionTable.listener, at: now + Self.acceptPause)
        if acceptor.lastPauseNote.map({ now - $0 > .seconds(10) }) ?? true {
            acceptor.lastPauseNote = now
            acceptor.journal.warning(
                "no connection can be accepted at the moment",
                [
                    "reason": "\(error)",
                    "remedy": "raise the limit of open files or lower the number of connections",
                ]
            )
        }
    }

    private func welcome(
        _ socket: consuming Socket,
        from address: SocketAddress
    ) throws(SystemError) {
        let rules = acceptor.proxies?.rules
        let isProxy = rules?.trusts(address.ip) ?? false
        guard isProxy || rules?.speaksProxy != true else {
            tally.refusedNoProxy.add()
            let reason = "it does not come from a trusted proxy"
            acceptor.notices.refusedProxy(from: address.host, because: reason, at: now)
            return try turnAway(
                socket,
                from: address,
                "this port accepts connections from trusted proxies only"
            )
        }
        // All clients of a proxy share its address.
        let place = isProxy ? nil : address.neighbourhood
        switch port.census.enter(from: place) {
        case .welcome:
            if let tls = acceptor.tls, !socket.secure(with: tls) {
                port.census.leave(from: place)
                throw SystemError(call: "SSL_new", code: ENOMEM)
            }
            tally.accepted.add()
            let connection = try seat(
                socket,
                from: address,
                at: place,
                awaitsProxyHeader: rules?.speaksProxy == true
            )
            if connection.isHandshaking {
                settleTimer(connection)
                continueLater(connection)
            } else {
                takeTurn(connection)
            }
        case .full:
            tally.refusedFull.add()
            acceptor.notices.refusedFull(at: now)
            try turnAway(socket, from: address, "the gateway has reached its limit of connections")
        case .tooManyFromThere:
            tally.refusedPerAddress.add()
            acceptor.notices.refusedPerAddress(from: address.host, at: now)
            try turnAway(socket, from: address, "your address has reached its limit of connections")
        }
    }

    private func turnAway(
        _ socket: consuming Socket,
        from address: SocketAddress,
        _ reason: String
    ) throws(SystemError) {
        // A handshake only to send a refusal would cost more than the request.
        guard acceptor.turnedAwayCount < Self.turnedAwayMax, acceptor.tls == nil else { return }
        acceptor.turnedAwayCount += 1
        let connection = try seat(socket, from: address, at: nil, isTurnedAway: true)
        connection.keepsAlive = false
        let problem = RequestProblem(status: 503, reason: reason)
        write(handler.answer(to: problem, head: nil, nil), to: connection)
        connection.phase = .finishing
        takeTurn(connection)
    }

    /// Gives the connection a slot and watches it.
    private func seat(
        _ socket: consuming Socket,
        from address: SocketAddress,
        at place: Neighbourhood?,
        awaitsProxyHeader: Bool = false,
        isTurnedAway: Bool = false
    ) throws(SystemError) -> ClientConnection {
        let token = connections.reserve()
        let descriptor = socket.number
        let connection = ClientConnection(
            socket,
            token: token,
            client: ClientIdentity(
                PeerAddress(address.ip, port: address.port),
                neighbourhood: place
            ),
            awaitsProxyHeader: awaitsProxyHeader,
            isTurnedAway: isTurnedAway
        )
        connections.insert(connection)
        do throws(SystemError) {
            try port.poller.watchChanges(of: descriptor, for: token)
        } catch {
            close(connection)
            throw error
        }
        return connection
    }
}

// MARK: - The end of a connection

extension EventLoop {
    func close(_ connection: ClientConnection) {
        guard !connection.isClosed else { return }
        connection.phase = .closed
        connection.request.abandonment?.set()
        connection.input.discard(to: &pool)
        giveBackHeld(connection)
        wheel.disarm(Int(connection.token.slot))
        if connection.isTurnedAway {
            acceptor.turnedAwayCount -= 1
        } else {
            port.census.leave(from: connection.client.neighbourhood)
        }
        if connection.unsent.isCut || connection.isStreaming || connection.hasOutput {
            connection.socket.breakOff()
        }
        connections.remove(connection.token)
        // The stream closes last, because its writer may read these counters.
        connection.stream?.close()
        connection.stream = nil
    }

    /// True if the client can break the connection without losing anything.
    func isLeaving(_ connection: ClientConnection) -> Bool {
        switch connection.phase {
        // Clients end an endless stream by closing the connection.
        case .introducing, .idle, .streaming, .lingering, .closed: true
        case .finishing: !connection.hasOutput
        case .handshaking, .head, .body, .answering: false
        }
    }
}

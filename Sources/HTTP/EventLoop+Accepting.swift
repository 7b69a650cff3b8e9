import Glibc
import Net
import System

extension EventLoop {
    /// Connections that one round accepts before others get a turn.
    private static let acceptsPerRound = 64
    /// The limit of connections that are refused with an answer at the same time, so that the
    /// client can read it.
    private static let refusedAtOnceMax = 256
    private static let acceptPause = Duration.milliseconds(100)

    func watchListener() throws(SystemError) {
        guard let listener = acceptor.listener else { return }
        try port.poller.watchInput(
            of: listener.descriptor,
            for: ConnectionTable.token(ofFixedSlot: ConnectionTable.listener)
        )
    }

    func acceptPending(upTo count: Int = acceptsPerRound) {
        guard let listener = acceptor.listener, !acceptor.isPaused else { return }
        for _ in 0..<count {
            do throws(SystemError) {
                switch listener.accept() {
                case .connection(let socket, let peer): try admitConnection(socket, from: peer)
                case .noneWaiting: return
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

    // The listener stays readable during a pause, so watching it would spin. Connections that end
    // meanwhile free their descriptors.
    private func pauseAccepting(_ listener: Listener, because error: SystemError) {
        acceptor.isPaused = true
        counters.count(.acceptPauses)
        port.poller.forget(listener.descriptor)
        wheel.arm(ConnectionTable.listener, at: now + Self.acceptPause)
        if acceptor.lastPauseWarning.map({ now - $0 > .seconds(10) }) ?? true {
            acceptor.lastPauseWarning = now
            acceptor.journal.warning(
                "no connection can be accepted at the moment",
                [
                    "reason": "\(error)",
                    "remedy": "raise the limit of open files or lower the number of connections",
                ]
            )
        }
    }

    private func admitConnection(
        _ socket: consuming Socket,
        from address: SocketAddress
    ) throws(SystemError) {
        let rules = acceptor.proxies?.rules
        let isProxy = rules?.trusts(address.ip) ?? false
        guard isProxy || rules?.speaksProxy != true else {
            counters.count(.refusedNoProxy)
            let reason = "it does not come from a trusted proxy"
            acceptor.notices.refusedProxy(from: address.host, because: reason, at: now)
            return try refuseConnection(
                socket,
                from: address,
                "this port accepts connections from trusted proxies only"
            )
        }
        // All clients of a proxy share its address.
        let place = isProxy ? nil : address.neighbourhood
        switch port.connectionCount.add(from: place) {
        case .admitted:
            if let tls = acceptor.tls, !socket.secure(with: tls) {
                port.connectionCount.remove(from: place)
                throw SystemError(call: "SSL_new", code: ENOMEM)
            }
            counters.count(.accepted)
            let connection = try register(
                socket,
                from: address,
                at: place,
                awaitsProxyHeader: rules?.speaksProxy == true
            )
            if connection.isHandshaking {
                updateTimer(connection)
                scheduleTurn(connection)
            } else {
                runTurn(connection)
            }
        case .full:
            counters.count(.refusedFull)
            acceptor.notices.refusedFull(at: now)
            try refuseConnection(
                socket,
                from: address,
                "the gateway has reached its limit of connections"
            )
        case .addressFull:
            counters.count(.refusedPerAddress)
            acceptor.notices.refusedPerAddress(from: address.host, at: now)
            try refuseConnection(
                socket,
                from: address,
                "your address has reached its limit of connections"
            )
        }
    }

    private func refuseConnection(
        _ socket: consuming Socket,
        from address: SocketAddress,
        _ reason: String
    ) throws(SystemError) {
        // A handshake only to send a refusal would cost more than the request.
        guard acceptor.refusedCount < Self.refusedAtOnceMax, acceptor.tls == nil else { return }
        acceptor.refusedCount += 1
        let connection = try register(socket, from: address, at: nil, isRefused: true)
        connection.keepsAlive = false
        let problem = RequestProblem(status: 503, reason: reason)
        write(handler.answer(to: problem, head: nil, nil), to: connection)
        connection.phase = .finishing
        runTurn(connection)
    }

    /// Gives the connection a slot in the table and adds it to epoll.
    private func register(
        _ socket: consuming Socket,
        from address: SocketAddress,
        at place: Neighbourhood?,
        awaitsProxyHeader: Bool = false,
        isRefused: Bool = false
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
            isRefused: isRefused
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
        releaseHoldings(connection)
        wheel.disarm(Int(connection.token.slot))
        if connection.isRefused {
            acceptor.refusedCount -= 1
        } else {
            port.connectionCount.remove(from: connection.client.neighbourhood)
        }
        if connection.unsent.isCut || connection.isStreaming || connection.hasOutput {
            connection.socket.breakOff()
        }
        connections.remove(connection.token)
        // The stream closes last, because its writer may read these counters.
        connection.stream?.close()
        connection.stream = nil
    }

    /// True if no request or answer is lost when the client closes the connection now.
    func canCloseWithoutLoss(_ connection: ClientConnection) -> Bool {
        switch connection.phase {
        // Clients end an endless stream by closing the connection.
        case .proxyHeader, .idle, .streaming, .lingering, .closed: true
        case .finishing: !connection.hasOutput
        case .handshaking, .head, .body, .answering: false
        }
    }
}

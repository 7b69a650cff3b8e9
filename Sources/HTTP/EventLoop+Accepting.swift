import Glibc
import Net
import System

/// How connections come into a loop: its listener, what a new client has to show, and what is told
/// of refusals.
struct Acceptor {
    /// nil once the server stops.
    var listener: Listener?
    /// All loops that watch the listener, if it is a passed one.
    let sharing: [LoopPort]
    let tls: TLSContext?
    let proxies: ProxyTrust?
    let journal: Journal
    let notices: RefusalNotices

    /// The listener is not watched, because no connection could be accepted.
    var isPaused = false
    var lastPauseWarning: Moment?
    /// Connections that are being refused; no other limit counts them.
    var refusedCount = 0
}

extension EventLoop {
    /// Connections that one round accepts before others get a turn.
    private static let acceptsPerRound = 64
    /// Connections that are refused with an answer at a time, so that the client can read it.
    private static let refusedAtOnceMax = 256
    private static let acceptPause = Duration.milliseconds(100)

    func watchListener() throws(SystemError) {
        guard let listener = acceptor.listener else { return }
        try port.poller.watchInput(
            of: listener.descriptor,
            for: ConnectionTable.token(ofFixedSlot: ConnectionTable.listener),
            isShared: listener.isPassed
        )
    }

    func acceptPending(upTo count: Int = acceptsPerRound) {
        guard let listener = acceptor.listener, !acceptor.isPaused else { return }
        for _ in 0..<count {
            do throws(SystemError) {
                switch listener.accept() {
                case .connection(let descriptor, let peer): try place(descriptor, from: peer)
                case .noneWaiting: return
                case .exhausted(let error): throw error
                }
            } catch {
                return pauseAccepting(listener, because: error)
            }
        }
    }

    /// Gives the connection to the loop that has the fewest.
    private func place(
        _ descriptor: consuming OwnedDescriptor,
        from peer: SocketAddress
    ) throws(SystemError) {
        let fewest = acceptor.sharing.min { $0.share.count < $1.share.count }
        if let fewest, fewest !== port, fewest.share.count < port.share.count {
            guard let kept = fewest.take(descriptor, from: peer) else { return }
            return try admitConnection(Socket(kept), from: peer)
        }
        try admitConnection(Socket(descriptor), from: peer)
    }

    /// Takes a connection that another loop has accepted.
    func takeConnection(_ number: CInt, from peer: SocketAddress) {
        defer { port.share.settle() }
        do throws(SystemError) {
            try admitConnection(Socket(OwnedDescriptor(taking: number)), from: peer)
        } catch {
            guard let listener = acceptor.listener else { return }
            pauseAccepting(listener, because: error)
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
        port.share.show(connections.count)
        do throws(SystemError) {
            try port.poller.watchChanges(of: descriptor, for: token)
        } catch {
            close(connection)
            throw error
        }
        return connection
    }

    // MARK: - PROXY header

    /// Reads the header of a connection that comes through a proxy, within the head timeout.
    func readProxyHeader(_ connection: ClientConnection) -> Step {
        let room = UnsafeMutableRawBufferPointer(
            start: scratch.memory,
            count: ProxyHeader.bytesMax
        )
        guard let count = peek(connection, into: room) else { return .waits }
        do throws(ProxyHeaderError) {
            let seen = UnsafeRawBufferPointer(rebasing: room[..<count])
            guard let header = try ProxyHeader.parse(seen) else {
                // The peer has sent FIN, so the header stays incomplete.
                if connection.readiness.isFinished { close(connection) }
                return .waits
            }
            // Consumes exactly the header, so that TLS begins as on other connections.
            connection.socket.skip(
                into: UnsafeMutableRawBufferPointer(rebasing: room[..<header.length])
            )
            counters.count(.bytesIn, header.length)
            counters.count(.proxyHeaders)
            guard applyProxyHeader(connection, header) else { return .advanced }
        } catch {
            acceptor.notices.refusedProxy(
                from: connection.client.peer.host,
                because: error.reason,
                at: now
            )
            counters.count(.refusedProxyHeader)
            refuseAtProxyHeader(connection, error.reason)
            return .advanced
        }
        connection.timer.mustRearm = true
        guard connection.isHandshaking else { return .advanced }
        // Handshakes take turns with those of other connections.
        scheduleTurn(connection)
        return .waits
    }

    /// Counts the connection for its client's address, whichever proxy it came through. A client
    /// that is a trusted proxy itself stands for many clients, so no address is counted. Returns
    /// false if the address is at its limit.
    private func applyProxyHeader(_ connection: ClientConnection, _ header: ProxyHeader) -> Bool {
        let client = header.client?.address
        let place = client.flatMap {
            acceptor.proxies?.rules.trusts($0) == true ? nil : $0.neighbourhood
        }
        guard let place, !port.connectionCount.assign(to: place) else {
            connection.applyProxyHeader(header, neighbourhood: place)
            return true
        }
        counters.count(.refusedPerAddress)
        acceptor.notices.refusedPerAddress(from: client?.description ?? "", at: now)
        refuseAtProxyHeader(connection, "your address has reached its limit of connections")
        return false
    }

    /// Peeks at the received bytes; nil when there are none. A connection that closes here is no
    /// error: proxies test the port this way.
    private func peek(
        _ connection: ClientConnection,
        into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        do throws(SystemError) {
            switch try connection.socket.peek(into: room) {
            case .wouldBlock: return nil
            case .done(0): break
            case .done(let count): return count
            }
        } catch {}
        close(connection)
        return nil
    }

    /// 503 makes clients keep their logs until the operator has fixed the proxy. Over TLS no answer
    /// is possible yet.
    private func refuseAtProxyHeader(_ connection: ClientConnection, _ reason: String) {
        guard !connection.socket.isSecure else { return endWithoutAnswer(connection) }
        connection.phase = .idle
        answerAndClose(RequestProblem(status: 503, reason: reason), connection)
    }

    // MARK: - TLS handshakes

    // A failed handshake ends with TLS's own alert, because no request exists to answer. Only a
    // client that does not speak TLS at all gets a plain-text answer.

    /// Handshakes in one round. Each takes up to a millisecond (an RSA signature), so a burst of
    /// new clients must not delay the answers of existing ones.
    static let handshakesPerRound = 8

    func continueHandshake(_ connection: ClientConnection) -> Step {
        // OpenSSL allocates its buffers at the first call, and a silent client needs none.
        guard connection.readiness.hasFirstBytes || checkFirstBytes(connection) else {
            return .waits
        }
        do throws(HandshakeError) {
            guard try connection.socket.handshake() else { return .waits }
        } catch {
            counters.count(.failedHandshakes)
            acceptor.journal.debug(
                "a TLS handshake failed",
                ["peer": connection.client.peer.host, "reason": error.reason]
            )
            if error.kind != .closed {
                acceptor.notices.handshakeFailed(
                    from: connection.client.peer.host,
                    because: error.reason,
                    at: now
                )
            }
            if error.kind == .plainHTTP { answerInPlainHTTP(connection) }
            endWithoutAnswer(connection)
            return .advanced
        }
        counters.count(.handshakes)
        if connection.socket.isResumed { counters.count(.resumptions) }
        if let certificate = connection.socket.clientCertificate {
            connection.client.applyCertificate(certificate)
        }
        connection.phase = .idle
        connection.timer.mustRearm = true
        return .advanced
    }

    /// True once the client has sent its first bytes, or has closed.
    private func checkFirstBytes(_ connection: ClientConnection) -> Bool {
        let first = UnsafeMutableRawBufferPointer(start: scratch.memory, count: 1)
        if case .wouldBlock? = try? connection.socket.peek(into: first) { return false }
        connection.readiness.hasFirstBytes = true
        return true
    }

    /// Ends the connection without an answer. The client may have sent more, and a reset would
    /// destroy the TLS alert on its way.
    func endWithoutAnswer(_ connection: ClientConnection) {
        dropBody(connection)
        beginLingering(connection)
    }

    /// The answer fits into the kernel's buffer of a new connection, so one send is enough.
    private func answerInPlainHTTP(_ connection: ClientConnection) {
        counters.count(.malformed)
        let response = handler.answer(to: .plainHTTP, head: nil, nil)
        var bytes: [UInt8] = []
        ResponseWriter(closes: true).write(response, stampedBy: handler, to: &bytes)
        counters.countAnswer(status: response.status)
        counters.count(.bytesOut, bytes.count)
        bytes.withUnsafeBytes { connection.socket.sendPlainly($0) }
    }
}

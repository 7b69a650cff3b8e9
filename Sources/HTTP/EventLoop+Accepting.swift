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
        guard let listener else { return }
        try port.poller.watchInput(
            of: listener.descriptor,
            for: PollToken(slot: UInt32(Slot.listener), generation: 0)
        )
    }

    func acceptWaiting(upTo count: Int = acceptsPerRound) {
        guard let listener, !isAcceptingPaused else { return }
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
        guard let listener else { return }
        isAcceptingPaused = false
        do throws(SystemError) {
            try watchListener()
        } catch {
            pauseAccepting(listener, because: error)
        }
    }

    // The listener stays readable during a pause, so watching it would spin. Connections that end meanwhile free their
    // descriptors.
    private func pauseAccepting(_ listener: Listener, because error: SystemError) {
        isAcceptingPaused = true
        tally.acceptPauses.add()
        port.poller.forget(listener.descriptor)
        wheel.arm(Slot.listener, at: now + Self.acceptPause)
        if lastPauseNote.map({ now - $0 > .seconds(10) }) ?? true {
            lastPauseNote = now
            journal.warning(
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
        let rules = proxies?.rules
        let isProxy = rules?.trusts(address.ip) ?? false
        guard isProxy || rules?.speaksProxy != true else {
            tally.refusedNoProxy.add()
            let reason = "it does not come from a trusted proxy"
            notices.refusedProxy(from: address.host, because: reason, at: now)
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
            if let tls, !socket.secure(with: tls) {
                port.census.leave(from: place)
                throw SystemError(call: "SSL_new", code: ENOMEM)
            }
            tally.accepted.add()
            let connection = try seat(
                socket,
                from: address,
                at: place,
                isIntroduced: rules?.speaksProxy == true
            )
            if connection.isHandshaking {
                settleTimer(connection)
                goOnLater(connection)
            } else {
                takeTurn(connection)
            }
        case .full:
            tally.refusedFull.add()
            notices.refusedFull(at: now)
            try turnAway(socket, from: address, "the gateway has reached its limit of connections")
        case .tooManyFromThere:
            tally.refusedPerAddress.add()
            notices.refusedPerAddress(from: address.host, at: now)
            try turnAway(socket, from: address, "your address has reached its limit of connections")
        }
    }

    private func turnAway(
        _ socket: consuming Socket,
        from address: SocketAddress,
        _ reason: String
    ) throws(SystemError) {
        // A handshake only to send a refusal would cost more than the request.
        guard turnedAwayCount < Self.turnedAwayMax, tls == nil else { return }
        turnedAwayCount += 1
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
        isIntroduced: Bool = false,
        isTurnedAway: Bool = false
    ) throws(SystemError) -> ClientConnection {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = connections.count
            connections.append(nil)
            generations.append(0)
        }
        generations[slot] &+= 1
        let token = PollToken(slot: UInt32(slot), generation: generations[slot])
        let descriptor = socket.number
        let connection = ClientConnection(
            socket,
            token: token,
            peer: PeerAddress(address.ip, port: address.port),
            neighbourhood: place,
            isIntroduced: isIntroduced,
            isTurnedAway: isTurnedAway
        )
        connections[slot] = connection
        do throws(SystemError) {
            try port.poller.watchChanges(of: descriptor, for: token)
        } catch {
            close(connection)
            throw error
        }
        return connection
    }
}

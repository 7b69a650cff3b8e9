import Net
import System

/// One thread that serves its share of the connections.
///
/// It sleeps only in `epoll_wait`. Each event gives a connection a turn (`EventLoop+Turn`): it
/// reads, interprets and answers as far as it can without waiting; then its memory and timer are
/// settled.
final class EventLoop {
    let port: LoopPort
    let limits: HTTPServer.Limits
    let handler: any RequestHandler
    let largeRequests: LargeRequests?
    var counters: LoopCounters { port.counters }

    var acceptor: Acceptor
    var connections = ConnectionTable()
    /// Set once the server stops.
    var stopDeadline: Moment?
    /// While the server stops: until then, connections without a request may still bring one.
    var lastRequestsUntil: Moment?

    var wheel: TimerWheel
    var now: Moment
    var pool = BufferPool()
    /// Input memory lent for a turn. Most requests fit into it and come in one read.
    let scratch = BufferPool.allocate(64 << 10)
    /// Answers of the present connection's turn, sent together at its end.
    var outgoing: [UInt8] = []
    /// Connections with work left after their turn, and handshakes; each once, oldest first.
    var unfinished: [PollToken] = []
    /// The connections of `unfinished` that have their turn in this round.
    private var resumed: [PollToken] = []

    init(
        port: LoopPort,
        acceptor: Acceptor,
        limits: HTTPServer.Limits,
        handler: any RequestHandler,
        largeRequests: LargeRequests? = nil
    ) {
        self.port = port
        self.acceptor = acceptor
        self.limits = limits
        self.handler = handler
        self.largeRequests = largeRequests
        now = .now
        wheel = TimerWheel(now: now)
    }

    deinit { BufferPool.free(scratch) }

    /// Serves until it is told to stop.
    func run() throws(SystemError) {
        port.bindToThisThread()
        defer {
            for connection in connections.all { close(connection) }
            port.end()
        }
        try port.poller.watchSignals(
            of: port.wakeUp.descriptor,
            for: ConnectionTable.token(ofFixedSlot: ConnectionTable.wakeUp)
        )
        try watchListener()
        var events: [PollEvent] = []
        var due: [Int] = []
        while !isDone {
            try port.poller.wait(timeout: timeToSleep, into: &events)
            now = .now
            for event in events { handle(event) }
            runUnfinished()
            wheel.takeDue(at: now, into: &due)
            for slot in due { expire(slot) }
            due.removeAll(keepingCapacity: true)
            if let until = lastRequestsUntil, now >= until { endLastRequests() }
            sendLocalAnswers()
            port.credit.close()
        }
    }

    private var isDone: Bool {
        guard let stopDeadline else { return false }
        return now >= stopDeadline || (connections.isEmpty && !port.share.isAwaiting)
    }

    private var timeToSleep: Duration? {
        guard unfinished.isEmpty else { return .zero }
        let times = [wheel.nearest, stopDeadline, lastRequestsUntil].compactMap(\.self)
        return times.min().map { $0 - now }
    }

    private func handle(_ event: PollEvent) {
        switch Int(event.token.slot) {
        case ConnectionTable.listener: acceptPending()
        case ConnectionTable.wakeUp: handleMessages()
        default:
            guard let connection = connections[event.token] else { return }
            if event.readiness.contains(.gone) {
                if !canCloseWithoutLoss(connection) { counters.count(.broken) }
                close(connection)
                return
            }
            if event.readiness.contains(.readable) { connection.readiness.mayRead = true }
            if event.readiness.contains(.writable) { connection.readiness.mayWrite = true }
            if event.readiness.contains(.finished) { connection.readiness.isFinished = true }
            // TLS may need to read before it can write, and the reverse.
            if connection.socket.isSecure {
                (connection.readiness.mayRead, connection.readiness.mayWrite) = (true, true)
            }
            if connection.isHandshaking { return scheduleTurn(connection) }
            // Its next turn in this round is scheduled already.
            guard !connection.isUnfinished else { return }
            runTurn(connection)
        }
    }

    private func handleMessages() {
        for message in port.mailbox.takeAll() {
            switch message {
            case .answer(let token, let response): deliver(response, to: token)
            case .connection(let number, let peer): takeConnection(number, from: peer)
            case .more(let token): continueStream(of: token)
            case .callback(let callback):
                callback()
                sendLocalAnswers()
            case .stop(let deadline, let lastRequests):
                beginStopping(by: deadline, lastRequests: lastRequests)
            }
        }
    }

    /// Gives each unfinished connection a turn, at most `handshakesPerRound` for a handshake.
    func runUnfinished() {
        guard !unfinished.isEmpty else { return }
        swap(&unfinished, &resumed)
        var handshakes = 0
        for token in resumed {
            guard let connection = connections[token] else { continue }
            if connection.isHandshaking {
                guard handshakes < Self.handshakesPerRound else {
                    unfinished.append(token)
                    continue
                }
                handshakes += 1
            }
            connection.isUnfinished = false
            runTurn(connection)
        }
        resumed.removeAll(keepingCapacity: true)
    }

    // MARK: - Stopping

    /// Stops accepting, lets requests in progress finish, and ends at the deadline. Until
    /// `lastRequests` an open connection may bring one more.
    func beginStopping(by deadline: Moment, lastRequests: Moment) {
        lastRequestsUntil = lastRequests > now ? lastRequests : nil
        port.share.close()
        stopDeadline = stopDeadline.map { min($0, deadline) } ?? deadline
        guard let listener = acceptor.listener else { return }
        // Clients in the backlog believe that they are connected, and closing the listener would
        // reset them. So they are accepted first. Those of a passed socket get the next process.
        if !listener.isPassed { acceptPending(upTo: 4096) }
        port.poller.forget(listener.descriptor)
        listener.stopListening()
        wheel.disarm(ConnectionTable.listener)
        acceptor.listener = nil
        // A turn reads input that has just arrived; a connection that is idle after it is closed.
        for connection in connections.all {
            guard let stream = connection.stream else {
                runTurn(connection)
                continue
            }
            // A stream has no known end, and neither has a slow reader, so it is cut.
            stream.end(.cut)
            runTurn(connection)
            if connection.hasOutput { close(connection) }
        }
    }

    private func endLastRequests() {
        lastRequestsUntil = nil
        for connection in connections.all where connection.stream == nil { runTurn(connection) }
    }

    // MARK: - The end of a connection

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
        port.share.show(connections.count)
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

import Net
import System

/// One thread that serves its share of the connections.
///
/// It sleeps only in `epoll_wait`. Each event gives a connection a turn (`EventLoop+Turn`): it reads, interprets and
/// answers as far as it can without waiting; then its memory and timer are settled.
final class EventLoop {
    /// The first slots of the connection table have fixed users.
    enum Slot {
        static let listener = 0
        static let wakeUp = 1
        static let firstConnection = 2
    }

    let port: LoopPort
    let limits: HTTPServer.Limits
    let tls: TLSContext?
    let proxies: ProxyTrust?
    let journal: Journal
    let notices: RefusalNotices
    let handler: any RequestHandler
    let largeRequests: LargeRequests?
    var tally: LoopTally { port.tally }

    /// nil once the server stops.
    var listener: Listener?
    var isAcceptingPaused = false
    var lastPauseNote: Moment?
    var stopDeadline: Moment?

    var connections: [ClientConnection?]
    var generations: [UInt32]
    var freeSlots: [Int] = []
    /// Connections in the table that are being refused; they count nowhere else.
    var turnedAwayCount = 0

    var wheel: TimerWheel
    var now: Moment
    var pool = BufferPool()
    /// Lent to the connection that has the turn; most requests fit into it and come in one read.
    let scratch = BufferPool.allocate(64 << 10)
    /// Answers of the turn, sent together at its end.
    var outgoing: [UInt8] = []
    /// Connections whose turn ended before their work did, and handshakes. Each is listed once, oldest first.
    var unfinished: [PollToken] = []
    private var resumed: [PollToken] = []

    init(
        port: LoopPort,
        listener: Listener,
        limits: HTTPServer.Limits,
        tls: TLSContext?,
        proxies: ProxyTrust? = nil,
        journal: Journal,
        notices: RefusalNotices,
        handler: any RequestHandler,
        largeRequests: LargeRequests? = nil
    ) {
        self.port = port
        self.listener = listener
        self.limits = limits
        self.tls = tls
        self.proxies = proxies
        self.journal = journal
        self.notices = notices
        self.handler = handler
        self.largeRequests = largeRequests
        now = .now
        wheel = TimerWheel(now: now)
        connections = Array(repeating: nil, count: Slot.firstConnection)
        generations = Array(repeating: 0, count: Slot.firstConnection)
    }

    deinit { BufferPool.free(scratch) }

    /// Serves until it is told to stop.
    func run() throws(SystemError) {
        port.bindToThisThread()
        defer {
            for connection in connections { connection.map(close) }
            port.end()
        }
        try port.poller.watchSignals(
            of: port.wakeUp.descriptor,
            for: PollToken(slot: UInt32(Slot.wakeUp), generation: 0)
        )
        try watchListener()
        var events: [PollEvent] = []
        var due: [Int] = []
        while !isDone {
            try port.poller.wait(timeout: timeToSleep, into: &events)
            now = .now
            for event in events { take(event) }
            takeTurnsAgain()
            wheel.takeDue(at: now, into: &due)
            for slot in due { expire(slot) }
            due.removeAll(keepingCapacity: true)
            giveOwnAnswers()
        }
    }

    private var isDone: Bool {
        guard let stopDeadline else { return false }
        return now >= stopDeadline || connections.count - freeSlots.count == Slot.firstConnection
    }

    private var timeToSleep: Duration? {
        guard unfinished.isEmpty else { return .zero }
        switch (wheel.nearest, stopDeadline) {
        case (nil, nil): return nil
        case (let nearest?, nil): return nearest - now
        case (nil, let deadline?): return deadline - now
        case (let nearest?, let deadline?): return min(nearest, deadline) - now
        }
    }

    private func take(_ event: PollEvent) {
        switch Int(event.token.slot) {
        case Slot.listener: acceptWaiting()
        case Slot.wakeUp: takeMail()
        default:
            guard let connection = connection(for: event.token) else { return }
            if event.readiness.contains(.gone) {
                if !isLeaving(connection) { tally.broken.add() }
                close(connection)
                return
            }
            if event.readiness.contains(.readable) { connection.mayRead = true }
            if event.readiness.contains(.writable) { connection.mayWrite = true }
            if event.readiness.contains(.finished) { connection.isFinishedByPeer = true }
            // TLS may need to read before it can write, and the reverse.
            if connection.socket.isSecure {
                (connection.mayRead, connection.mayWrite) = (true, true)
            }
            if connection.isHandshaking { return goOnLater(connection) }
            // The connection has a turn in this round already.
            guard !connection.isUnfinished else { return }
            takeTurn(connection)
        }
    }

    private func takeMail() {
        for message in port.mailbox.takeAll() {
            switch message {
            case .answer(let token, let response): give(response, to: token)
            case .more(let token): continueStream(of: token)
            case .stop(let deadline): beginStopping(by: deadline)
            }
        }
    }

    func takeTurnsAgain() {
        guard !unfinished.isEmpty else { return }
        swap(&unfinished, &resumed)
        var handshakes = 0
        for token in resumed {
            guard let connection = connection(for: token) else { continue }
            if connection.isHandshaking {
                guard handshakes < Self.handshakesPerRound else {
                    unfinished.append(token)
                    continue
                }
                handshakes += 1
            }
            connection.isUnfinished = false
            takeTurn(connection)
        }
        resumed.removeAll(keepingCapacity: true)
    }

    /// The slot's connection, if the token refers to it and not to an earlier one.
    func connection(for token: PollToken) -> ClientConnection? {
        guard let connection = connections[Int(token.slot)], connection.token == token else {
            return nil
        }
        return connection
    }
}

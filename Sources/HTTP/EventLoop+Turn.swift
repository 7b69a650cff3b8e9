import Glibc
import Net
import System

/// A connection's turn: it reads, interprets and answers as far as it can without waiting.
extension EventLoop {
    /// Reads in one turn, so that a client that sends without a pause does not delay others.
    private static let readsPerTurn = 16
    /// Requests in one turn; one read may bring thousands.
    private static let requestsPerTurn = 64
    /// The time of one turn; some requests take much longer than others.
    private static let turnTime: Duration = .milliseconds(20)
    /// Initial body buffer; longer bodies grow it.
    static let firstBlockBytes = 16 << 10

    enum Step {
        case advanced
        case needsInput
        case waits
    }

    func runTurn(_ connection: ClientConnection) {
        port.budgets.bodies.giveBack(
            connection.holdings.waiting,
            of: connection.client.neighbourhood
        )
        connection.holdings.waiting = 0
        connection.input.lend(scratch)
        var reads = 0
        var requests = 0
        let began = Moment.now
        turn: while !connection.isClosed {
            // A client that takes no answers is not read from, which bounds the memory held for it.
            guard flushIfNeeded(connection) else { break turn }
            switch step(connection) {
            case .advanced:
                guard connection.isIdle else { continue turn }
                requests += 1
                guard
                    requests >= Self.requestsPerTurn || Moment.now - began >= Self.turnTime
                else { continue turn }
                if flush(connection) { scheduleTurn(connection) }
                break turn
            case .waits:
                guard lingerIfFinished(connection) else { break turn }
            case .needsInput:
                guard flush(connection) else { break turn }
                guard reads < Self.readsPerTurn else {
                    scheduleTurn(connection)
                    break turn
                }
                reads += 1
                guard read(connection) else { break turn }
            }
        }
        endTurn(connection)
    }

    /// Schedules another turn after all other ready connections. A connection is listed once.
    func scheduleTurn(_ connection: ClientConnection) {
        guard !connection.isUnfinished else { return }
        connection.isUnfinished = true
        unfinished.append(connection.token)
    }

    private func step(_ connection: ClientConnection) -> Step {
        switch connection.phase {
        case .proxyHeader: readProxyHeader(connection)
        case .handshaking: continueHandshake(connection)
        case .idle, .head: beginRequest(connection)
        case .body: continueBody(connection)
        case .streaming: continueStream(connection)
        case .lingering: dropLingeringInput(connection)
        case .answering, .finishing, .closed: .waits
        }
    }

    /// Begins to linger if the last answer is written. Returns true if it did.
    private func lingerIfFinished(_ connection: ClientConnection) -> Bool {
        guard flush(connection), connection.phase == .finishing else { return false }
        if connection.unsent.isCut { connection.socket.breakOff() }
        beginLingering(connection)
        return true
    }

    /// Sends FIN, and then reads and drops input until the client closes too.
    func beginLingering(_ connection: ClientConnection) {
        connection.socket.finishWriting()
        connection.phase = .lingering
        connection.lingering.began = now
    }

    /// Drops the input of a lingering connection, up to the limit.
    private func dropLingeringInput(_ connection: ClientConnection) -> Step {
        let count = connection.input.unread.count
        connection.input.dropUnread()
        connection.lingering.bytes += count
        // The timer restarts, because a slow client that still sends reads the answer only after it
        // has sent everything.
        if count > 0 { connection.timer.mustRearm = true }
        guard connection.lingering.bytes <= limits.lingerBytes else {
            close(connection)
            return .waits
        }
        return .needsInput
    }

    /// Returns true if the turn goes on: bytes came, or the client has to be told a TLS error.
    private func read(_ connection: ClientConnection) -> Bool {
        guard connection.readiness.mayRead else { return false }
        if connection.input.block == nil { connection.input.lend(scratch) }
        if connection.input.liveCount == 0 { connection.input.rewind() }
        if connection.input.room.isEmpty {
            connection.input.makeRoom(wantedCapacity: wantedCapacity(connection), from: &pool)
        }
        let room = connection.input.room
        do throws(SystemError) {
            switch try connection.socket.receive(into: room) {
            case .wouldBlock:
                connection.readiness.mayRead = false
                return false
            case .done(0):
                clientFinished(connection)
                return false
            case .done(let count):
                // A short read has emptied the socket, and later bytes cause a new event. FIN does
                // not: it may have come before the event that announced the bytes.
                if !connection.readiness.isFinished,
                    connection.socket.isEmptied(by: count, of: room.count)
                {
                    connection.readiness.mayRead = false
                }
                connection.input.end += count
                counters.count(.bytesIn, count)
                return true
            }
        } catch {
            let isTLSError = error.code == EPROTO && connection.socket.isSecure
            if isTLSError || !connection.isIdle { counters.count(.broken) }
            guard isTLSError else {
                close(connection)
                return false
            }
            endWithoutAnswer(connection)
            return true
        }
    }

    // Only called when more input is needed: a client that half-closes after a complete request has
    // its answer by now.
    private func clientFinished(_ connection: ClientConnection) {
        switch connection.phase {
        case .head, .body: counters.count(.broken)
        case .proxyHeader, .handshaking, .idle, .answering, .streaming, .finishing, .lingering,
            .closed:
            break
        }
        close(connection)
    }

    /// A body gets its declared size, but never more than twice the received bytes, so memory
    /// follows the bytes.
    private func wantedCapacity(_ connection: ClientConnection) -> Int {
        let live = connection.input.liveCount
        guard let body = connection.request.body, !body.isDropped else { return live * 2 }
        return min(body.declaredBytes ?? .max, max(Self.firstBlockBytes, live * 2))
    }

    /// Ends a turn: gives back unneeded memory, charges the rest, and sets the timer.
    func endTurn(_ connection: ClientConnection) {
        guard !connection.isClosed else {
            clearOutgoing()
            return
        }
        if stopDeadline != nil, lastRequestsUntil == nil, !connection.hasOutput,
            connection.isIdle || connection.isHandshaking || connection.awaitsProxyHeader
        {
            return close(connection)
        }
        connection.stream?.setUnsent(connection.unsent.count)
        chargePipelinedInput(connection)
        // Only a body is known to grow; a head keeps no spare room.
        let wanted =
            connection.request.body == nil ? connection.input.liveCount : wantedCapacity(connection)
        connection.input.endTurn(wantedCapacity: wanted, to: &pool)
        guard chargeHoldings(connection) else { return }
        updateTimer(connection)
    }

    /// Charges pipelined requests that wait in memory: for the answer before them, or for the next
    /// turn. Beyond the size of a head they count as bodies in flight. Without room they are
    /// dropped, and the connection's end tells the client that they were not read. After the last
    /// answer nothing is read.
    private func chargePipelinedInput(_ connection: ClientConnection) {
        if connection.phase == .finishing { connection.input.dropUnread() }
        guard
            connection.isBusy
                || (connection.isIdle && (connection.hasOutput || connection.isUnfinished))
        else { return }
        let count = connection.input.liveCount
        guard count > limits.headBytes else { return }
        if port.budgets.bodies.take(count, for: connection.client.neighbourhood, largest: 0) {
            connection.holdings.waiting = count
        } else {
            connection.input.dropUnread()
            connection.keepsAlive = false
            if connection.isIdle { connection.phase = .finishing }
        }
    }

    // MARK: - Output

    /// Answers to pipelined requests are sent together, up to this size.
    private static let outgoingMax = 64 << 10

    func flushIfNeeded(_ connection: ClientConnection) -> Bool {
        guard connection.hasOutput || outgoing.count > Self.outgoingMax else { return true }
        return flush(connection)
    }

    /// Sends pending output. Returns false if some remains, or if the connection is lost.
    func flush(_ connection: ClientConnection) -> Bool {
        guard !connection.isClosed else { return false }
        guard connection.hasOutput || !outgoing.isEmpty else { return true }
        do throws(SystemError) {
            if connection.hasOutput {
                if !outgoing.isEmpty { connection.unsent.bytes += outgoing }
                clearOutgoing()
                connection.unsent.sentCount = try send(
                    connection.unsent.bytes,
                    from: connection.unsent.sentCount,
                    on: connection
                )
                guard !connection.hasOutput else { return false }
                connection.unsent.bytes = []
                connection.unsent.sentCount = 0
            } else {
                let sent = try send(outgoing, from: 0, on: connection)
                let isAll = sent == outgoing.count
                if !isAll { keepUnsent(from: sent, on: connection) }
                clearOutgoing()
                guard isAll else { return false }
            }
        } catch {
            // Clients end an endless stream by closing the connection.
            if !connection.isStreaming { counters.count(.broken) }
            close(connection)
            return false
        }
        connection.unsent.pace = nil
        return true
    }

    /// The memory of one large answer is not kept for later ones.
    func clearOutgoing() {
        if outgoing.capacity > Self.outgoingMax * 2 { outgoing = [] }
        outgoing.removeAll(keepingCapacity: true)
    }

    /// Sends as much as the kernel takes; returns the start of the rest.
    private func send(
        _ bytes: [UInt8],
        from start: Int,
        on connection: ClientConnection
    ) throws(SystemError) -> Int {
        var sent = start
        while sent < bytes.count, connection.readiness.mayWrite {
            let outcome = try bytes.withUnsafeBufferPointer { bytes throws(SystemError) in
                let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[sent...])
                return try connection.socket.send(rest)
            }
            switch outcome {
            case .wouldBlock: connection.readiness.mayWrite = false
            case .done(let count):
                sent += count
                connection.timer.mustRearm = true
                connection.unsent.pace?.addSent(count)
                counters.count(.bytesOut, count)
            }
        }
        return sent
    }

    /// Moves the rest into memory of the connection, sized to fit: the loop's array may have far
    /// more capacity than the rest of an answer needs.
    private func keepUnsent(from sent: Int, on connection: ClientConnection) {
        let count = outgoing.count - sent
        if sent == 0, count > outgoing.capacity / 2 {
            connection.unsent.bytes = outgoing
            outgoing = []
        } else {
            connection.unsent.bytes = Array(outgoing[sent...])
        }
        connection.unsent.sentCount = 0
        connection.unsent.pace = SendPace(
            at: now,
            kernelBytes: connection.socket.unacknowledgedBytes,
            limits
        )
    }
}

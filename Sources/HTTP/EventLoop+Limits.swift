import Net
import System

extension EventLoop {
    /// Sets the timer for the connection's phase; there is none while a handler has the request.
    func updateTimer(_ connection: ClientConnection) {
        let timer = wantedTimer(connection)
        guard timer != connection.timer.kind || connection.timer.mustRearm else { return }
        connection.timer.kind = timer
        connection.timer.mustRearm = false
        let slot = Int(connection.token.slot)
        switch timer {
        case .none: wheel.disarm(slot)
        case .idle: wheel.arm(slot, at: now + limits.idleTime)
        case .head: wheel.arm(slot, at: now + limits.headTime)
        case .body: wheel.arm(slot, at: min(now + limits.bodyTime, bodyDeadline(connection)))
        // The deadline counts from when the answer began to wait, whatever the client takes since.
        case .write:
            wheel.arm(slot, at: connection.unsent.pace?.nextCheck ?? now + limits.writeTime)
        case .linger:
            let last = connection.lingering.began + limits.lingerTimeMax
            wheel.arm(slot, at: min(now + limits.lingerTime, last))
        }
    }

    /// The time at which a body without further bytes falls below the required average rate.
    private func bodyDeadline(_ connection: ClientConnection) -> Moment {
        let arrived = connection.request.body?.arrivedBytes ?? 0
        // When bodies in flight are scarce, slow ones must make room.
        let rate =
            port.budgets.bodies.isScarce
            ? max(limits.bodyRateMin, limits.scarceBodyRateMin) : limits.bodyRateMin
        return connection.request.bodyBegan + limits.bodyTime
            + .seconds(Double(arrived) / Double(max(1, rate)))
    }

    private func wantedTimer(_ connection: ClientConnection) -> ConnectionTimer.Kind {
        if connection.hasOutput { return .write }
        return switch connection.phase {
        case .idle: .idle
        case .proxyHeader, .handshaking, .head: .head
        case .body: .body
        case .answering, .streaming, .closed: .none
        case .finishing: .write
        case .lingering: .linger
        }
    }

    /// Handles the end of a slot's time.
    func expire(_ slot: Int) {
        guard slot != ConnectionTable.listener else { return resumeAccepting() }
        guard let connection = connections[slot] else { return }
        let timer = connection.timer.kind
        connection.timer.kind = .none
        switch timer {
        case .none, .linger: close(connection)
        case .idle:
            counters.count(.idleTimeouts)
            close(connection)
        case .write:
            if checkPace(connection) { return updateTimer(connection) }
            counters.count(.writeTimeouts)
            // A reset also frees the bytes that the kernel holds.
            connection.socket.resetWhenClosed()
            close(connection)
        case .head where connection.awaitsProxyHeader:
            counters.count(.headTimeouts)
            counters.count(.refusedProxyHeader)
            close(connection)
        case .head where connection.isHandshaking:
            counters.count(.headTimeouts)
            counters.count(.failedHandshakes)
            close(connection)
        case .head:
            counters.count(.headTimeouts)
            answerAndClose(.headTooSlow, connection)
            runTurn(connection)
        case .body:
            counters.count(.bodyTimeouts)
            bodyTooSlow(connection)
        }
    }

    /// Returns true if the client takes its answer fast enough.
    private func checkPace(_ connection: ClientConnection) -> Bool {
        guard var pace = connection.unsent.pace else { return false }
        let left = connection.socket.unacknowledgedBytes
        let isKept = pace.check(at: now, kernelBytes: left, limits)
        connection.unsent.pace = pace
        return isKept
    }

    private func bodyTooSlow(_ connection: ClientConnection) {
        if connection.request.body?.isDropped == false {
            answerAndClose(.bodyTooSlow, connection)
        } else {
            // The request was already answered.
            connection.request.body = nil
            connection.phase = .finishing
        }
        runTurn(connection)
    }

    // MARK: - Memory

    /// Charges the memory that a connection holds between its turns. Most hold none, which costs a
    /// comparison. Returns false if there was no room and the connection was refused or closed.
    func chargeHoldings(_ connection: ClientConnection) -> Bool {
        let head = heldHeadBytes(connection) + heldTLSBytes(connection)
        if head != connection.holdings.head {
            let (budget, largest) = (port.budgets.heads, limits.headBytes)
            guard adjust(&connection.holdings.head, to: head, of: budget, largest, connection)
            else {
                counters.count(.refusedHeads)
                refuseForLackOfRoom(connection)
                return false
            }
        }
        if !connection.hasOutput { connection.holdings.reserved = nil }
        let answer = unsentBytes(connection)
        if answer != connection.holdings.answer {
            let (budget, largest) = (port.budgets.answers, limits.largestAnswerBytes)
            guard adjust(&connection.holdings.answer, to: answer, of: budget, largest, connection)
            else {
                counters.count(.refusedAnswers)
                connection.socket.resetWhenClosed()
                close(connection)
                return false
            }
        }
        return true
    }

    func releaseHoldings(_ connection: ClientConnection) {
        let (holdings, place) = (connection.holdings, connection.client.neighbourhood)
        connection.holdings = Holdings()
        port.budgets.bodies.giveBack(holdings.body + holdings.waiting, of: place)
        port.budgets.heads.giveBack(holdings.head, of: place)
        port.budgets.answers.giveBack(holdings.answer, of: place)
    }

    /// Gives back the budget of a body that will not be read further.
    func dropBody(_ connection: ClientConnection) {
        port.budgets.bodies.giveBack(connection.holdings.body, of: connection.client.neighbourhood)
        connection.holdings.body = 0
        connection.request.body = nil
        connection.input.dropUnread()
        connection.input.endBody()
    }

    /// Takes what is missing, or gives back what is too much. Returns false without room.
    func adjust(
        _ held: inout Int,
        to bytes: Int,
        of budget: ByteBudget,
        _ largest: Int,
        _ connection: ClientConnection
    ) -> Bool {
        let (missing, place) = (bytes - held, connection.client.neighbourhood)
        guard missing <= 0 || budget.take(missing, for: place, largest: largest) else {
            return false
        }
        budget.giveBack(-missing, of: place)
        held = bytes
        return true
    }

    private func heldHeadBytes(_ connection: ClientConnection) -> Int {
        switch connection.phase {
        case .head: connection.input.ownBytes
        case .body: connection.request.head?.heldBytes ?? 0
        // Small requests that wait behind another; large ones are charged as bodies.
        case .idle, .answering, .streaming:
            connection.holdings.waiting > 0 ? 0 : connection.input.ownBytes
        case .proxyHeader, .handshaking, .finishing, .lingering, .closed: 0
        }
    }

    /// TLS memory of handshakes and partial records.
    private func heldTLSBytes(_ connection: ClientConnection) -> Int {
        switch connection.phase {
        case .closed: 0
        // The connection ends with its answer, which the client gets regardless of room.
        case .answering where !connection.keepsAlive: 0
        case .finishing: 0
        default: connection.socket.heldBytes
        }
    }

    /// A stream charges its own bytes.
    private func unsentBytes(_ connection: ClientConnection) -> Int {
        guard connection.hasOutput, !connection.isStreaming else { return 0 }
        return max(0, connection.unsent.bytes.count - (connection.holdings.reserved?.bytes ?? 0))
    }

    /// Ends a connection whose head or TLS memory finds no room. A request that has begun gets an
    /// answer. Pipelined requests behind it get none: the connection's end tells the client that
    /// they were not read.
    private func refuseForLackOfRoom(_ connection: ClientConnection) {
        if connection.isHandshaking {
            // No answer is possible yet, and devices reconnect.
            counters.count(.failedHandshakes)
            close(connection)
        } else if connection.phase == .lingering {
            close(connection)
        } else if connection.isBusy || connection.hasOutput {
            connection.input.dropUnread()
            connection.keepsAlive = false
            if connection.isIdle { connection.phase = .finishing }
            if heldTLSBytes(connection) > 0 { close(connection) } else { endTurn(connection) }
        } else {
            answerAndClose(.tooManyHeads, connection)
            runTurn(connection)
        }
    }
}

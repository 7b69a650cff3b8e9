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
        // The deadline counts from the time when the answer began to wait; bytes that the client
        // takes do not move it.
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
            if takesAnswerFastEnough(connection) { return updateTimer(connection) }
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

    /// True if the client takes its answer fast enough.
    private func takesAnswerFastEnough(_ connection: ClientConnection) -> Bool {
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
}

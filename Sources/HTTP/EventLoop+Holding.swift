import Net
import System

/// Charges the memory that a connection holds between its turns. Most hold none, which costs a
/// comparison.
extension EventLoop {
    /// Returns false if there was no room and the connection was refused or closed.
    func chargeHoldings(_ connection: ClientConnection) -> Bool {
        let head = heldHeadBytes(connection) + heldTLSBytes(connection)
        if head != connection.holdings.head {
            guard adjust(\.head, to: head, of: port.budgets.heads, limits.headBytes, connection)
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
            guard adjust(\.answer, to: answer, of: budget, largest, connection) else {
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

    private func adjust(
        _ part: WritableKeyPath<Holdings, Int>,
        to bytes: Int,
        of budget: ByteBudget,
        _ largest: Int,
        _ connection: ClientConnection
    ) -> Bool {
        let missing = bytes - connection.holdings[keyPath: part]
        if missing > 0 {
            guard budget.take(missing, for: connection.client.neighbourhood, largest: largest)
            else {
                return false
            }
        } else {
            budget.giveBack(-missing, of: connection.client.neighbourhood)
        }
        connection.holdings[keyPath: part] = bytes
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

import Net
import System

extension EventLoop {
    /// Answers to pipelined requests are sent together, up to this size.
    private static let outgoingMax = 64 << 10

    func flushIfNeeded(_ connection: ClientConnection) -> Bool {
        guard connection.hasOutput || outgoing.count > Self.outgoingMax else { return true }
        return flush(connection)
    }

    /// Sends what there is to send. False if something is left, or the connection was lost.
    func flush(_ connection: ClientConnection) -> Bool {
        guard !connection.isClosed else { return false }
        guard connection.hasOutput || !outgoing.isEmpty else { return true }
        do throws(SystemError) {
            if connection.hasOutput {
                if !outgoing.isEmpty { connection.output += outgoing }
                clearOutgoing()
                connection.outputSent = try send(
                    connection.output,
                    from: connection.outputSent,
                    on: connection
                )
                guard !connection.hasOutput else { return false }
                connection.output = []
                connection.outputSent = 0
            } else {
                let sent = try send(outgoing, from: 0, on: connection)
                let isAll = sent == outgoing.count
                if !isAll { keep(from: sent, on: connection) }
                clearOutgoing()
                guard isAll else { return false }
            }
        } catch {
            // Leaving is how clients end what has no end.
            if !connection.isStreaming { tally.broken.add() }
            close(connection)
            return false
        }
        connection.pace = nil
        return true
    }

    /// What one large answer took is not kept for the next ones.
    func clearOutgoing() {
        if outgoing.capacity > Self.outgoingMax * 2 { outgoing = [] }
        outgoing.removeAll(keepingCapacity: true)
    }

    /// As much as the kernel takes. Returns where the rest begins.
    private func send(
        _ bytes: [UInt8],
        from start: Int,
        on connection: ClientConnection
    ) throws(SystemError) -> Int {
        var sent = start
        while sent < bytes.count, connection.mayWrite {
            let outcome = try bytes.withUnsafeBufferPointer { bytes throws(SystemError) in
                try connection.socket.send(UnsafeRawBufferPointer(bytes)[from: sent])
            }
            switch outcome {
            case .wouldBlock: connection.mayWrite = false
            case .done(let count):
                sent += count
                connection.mustRearm = true
                connection.pace?.give(count)
                tally.bytesOut.add(count)
            }
        }
        return sent
    }

    /// The connection gets what is left in memory of its own, no more than it takes: the loop's array has room for
    /// much more than a few bytes of an answer.
    private func keep(from sent: Int, on connection: ClientConnection) {
        let count = outgoing.count - sent
        if sent == 0, count > outgoing.capacity / 2 {
            connection.output = outgoing
            outgoing = []
        } else {
            connection.output = Array(outgoing[sent...])
        }
        connection.outputSent = 0
        connection.pace = SendPace(
            at: now,
            kernelBytes: connection.socket.unacknowledgedBytes,
            limits
        )
    }
}

extension UnsafeRawBufferPointer {
    fileprivate subscript(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start...])
    }
}

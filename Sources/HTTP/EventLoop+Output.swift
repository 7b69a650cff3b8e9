import Net
import System

extension EventLoop {
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
                try connection.socket.send(UnsafeRawBufferPointer(bytes)[from: sent])
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

extension UnsafeRawBufferPointer {
    fileprivate subscript(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start...])
    }
}

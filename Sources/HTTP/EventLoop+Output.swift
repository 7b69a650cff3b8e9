import Net
import System

extension EventLoop {
    /// Answers to pipelined requests are sent together, up to this size.
    private static let outgoingMax = 64 << 10

    func flushIfNeeded(_ connection: Connection) -> Bool {
        guard connection.hasOutput || outgoing.count > Self.outgoingMax else { return true }
        return flush(connection)
    }

    /// Sends what there is to send. False if something is left, or the connection was lost.
    func flush(_ connection: Connection) -> Bool {
        guard !connection.isClosed else { return false }
        guard connection.hasOutput || !outgoing.isEmpty else { return true }
        if !connection.hasOutput {
            // The loop's array is lent to the connection and comes back when all of it was sent.
            swap(&outgoing, &connection.output)
            connection.outputSent = 0
        } else {
            connection.output += outgoing
            outgoing.removeAll(keepingCapacity: true)
        }
        do throws(SystemError) {
            while connection.hasOutput, connection.mayWrite {
                let outcome = try connection.output.withUnsafeBufferPointer {
                    bytes throws(SystemError) in
                    try connection.socket.send(
                        UnsafeRawBufferPointer(bytes)[from: connection.outputSent]
                    )
                }
                switch outcome {
                case .wouldBlock: connection.mayWrite = false
                case .done(let count):
                    connection.outputSent += count
                    connection.mustRearm = true
                    tally.bytesOut.add(count)
                }
            }
        } catch {
            // Leaving is how clients end what has no end.
            if !connection.isStreaming { tally.broken.add() }
            close(connection)
            return false
        }
        guard !connection.hasOutput else { return false }
        if connection.output.capacity <= Self.outgoingMax * 2 {
            swap(&outgoing, &connection.output)
        }
        outgoing.removeAll(keepingCapacity: true)
        connection.output = []
        connection.outputSent = 0
        return true
    }
}

extension UnsafeRawBufferPointer {
    fileprivate subscript(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[start...])
    }
}

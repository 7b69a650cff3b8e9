import Net
import System

/// How a connection begins that comes through a proxy which says for whom it speaks. It has the time of a head for it.
extension EventLoop {
    func takeIntroduction(_ connection: Connection) -> Step {
        let room = UnsafeMutableRawBufferPointer(
            start: scratch.memory,
            count: ProxyHeader.bytesMax
        )
        guard let count = peek(connection, into: room) else { return .waits }
        do throws(ProxyHeaderError) {
            let seen = UnsafeRawBufferPointer(rebasing: room[..<count])
            guard let header = try ProxyHeader.parse(seen) else {
                // No more is to come.
                if connection.isFinishedByPeer { close(connection) }
                return .waits
            }
            // Exactly the header, so that TLS begins where it does on other connections.
            connection.socket.skip(
                into: UnsafeMutableRawBufferPointer(rebasing: room[..<header.length])
            )
            tally.bytesIn.add(header.length)
            tally.proxyHeaders.add()
            connection.beIntroduced(by: header)
        } catch {
            notices.refusedProxy(from: connection.peer.host, because: error.reason, at: now)
            refuseIntroduction(connection, error)
            return .advanced
        }
        connection.mustRearm = true
        guard connection.isHandshaking else { return .advanced }
        // With the others that want one.
        goOnLater(connection)
        return .waits
    }

    /// What has come, left where it is; nil when that is nothing. Who ends here has said nothing yet: proxies look
    /// so whether this port listens.
    private func peek(
        _ connection: Connection,
        into room: UnsafeMutableRawBufferPointer
    ) -> Int? {
        do throws(SystemError) {
            switch try connection.socket.peek(into: room) {
            case .wouldBlock: return nil
            case .done(0): break
            case .done(let count): return count
            }
        } catch {}
        close(connection)
        return nil
    }

    /// 503 has clients keep what they have until the operator has put it right. Over TLS nothing can be said yet.
    private func refuseIntroduction(_ connection: Connection, _ error: ProxyHeaderError) {
        tally.refusedProxyHeader.add()
        guard !connection.socket.isSecure else { return leave(connection) }
        connection.phase = .idle
        refuse(RequestProblem(status: 503, reason: error.reason), connection)
    }
}

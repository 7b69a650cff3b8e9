import Net
import System

/// How a connection begins that comes through a proxy which says for whom it speaks. It has the time of a head for it.
extension EventLoop {
    func takeIntroduction(_ connection: ClientConnection) -> Step {
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
            guard introduce(connection, header) else { return .advanced }
        } catch {
            notices.refusedProxy(from: connection.peer.host, because: error.reason, at: now)
            tally.refusedProxyHeader.add()
            refuseIntroduction(connection, error.reason)
            return .advanced
        }
        connection.mustRearm = true
        guard connection.isHandshaking else { return .advanced }
        // With the others that want one.
        goOnLater(connection)
        return .waits
    }

    /// Each client has its share of the connections, whatever proxy it comes through. Another proxy stands for many.
    private func introduce(_ connection: ClientConnection, _ header: ProxyHeader) -> Bool {
        let client = header.client?.address
        let place = client.flatMap { proxies?.rules.trusts($0) == true ? nil : $0.neighbourhood }
        guard let place, !port.census.settle(at: place) else {
            connection.beIntroduced(by: header, at: place)
            return true
        }
        tally.refusedPerAddress.add()
        notices.refusedPerAddress(from: client?.description ?? "", at: now)
        refuseIntroduction(connection, "your address has as many connections as it may")
        return false
    }

    /// What has come, left where it is; nil when that is nothing. Who ends here has said nothing yet: proxies look
    /// so whether this port listens.
    private func peek(
        _ connection: ClientConnection,
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
    private func refuseIntroduction(_ connection: ClientConnection, _ reason: String) {
        guard !connection.socket.isSecure else { return leave(connection) }
        connection.phase = .idle
        refuse(RequestProblem(status: 503, reason: reason), connection)
    }
}

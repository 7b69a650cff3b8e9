import Net
import System

/// Reads the PROXY header of a connection that comes through a proxy, within the head timeout.
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
                // The peer has finished, so the header stays incomplete.
                if connection.isFinishedByPeer { close(connection) }
                return .waits
            }
            // Consumes exactly the header, so that TLS begins as on other connections.
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
        // Handshakes take turns with those of other connections.
        goOnLater(connection)
        return .waits
    }

    /// Each client has its share of the connections, whichever proxy it uses. A client that is a trusted proxy itself
    /// stands for many.
    private func introduce(_ connection: ClientConnection, _ header: ProxyHeader) -> Bool {
        let client = header.client?.address
        let place = client.flatMap { proxies?.rules.trusts($0) == true ? nil : $0.neighbourhood }
        guard let place, !port.census.settle(at: place) else {
            connection.beIntroduced(by: header, at: place)
            return true
        }
        tally.refusedPerAddress.add()
        notices.refusedPerAddress(from: client?.description ?? "", at: now)
        refuseIntroduction(connection, "your address has reached its limit of connections")
        return false
    }

    /// Peeks at the received bytes; nil when there are none. A connection that closes here is no error: proxies test
    /// the port this way.
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

    /// 503 makes clients keep their logs until the operator has fixed the proxy. Over TLS no answer is possible yet.
    private func refuseIntroduction(_ connection: ClientConnection, _ reason: String) {
        guard !connection.socket.isSecure else { return leave(connection) }
        connection.phase = .idle
        refuse(RequestProblem(status: 503, reason: reason), connection)
    }
}

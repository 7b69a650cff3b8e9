import Net
import System

/// Reads the PROXY header of a connection that comes through a proxy, within the head timeout.
extension EventLoop {
    func readProxyHeader(_ connection: ClientConnection) -> Step {
        let room = UnsafeMutableRawBufferPointer(
            start: scratch.memory,
            count: ProxyHeader.bytesMax
        )
        guard let count = peek(connection, into: room) else { return .waits }
        do throws(ProxyHeaderError) {
            let seen = UnsafeRawBufferPointer(rebasing: room[..<count])
            guard let header = try ProxyHeader.parse(seen) else {
                // The peer has sent FIN, so the header stays incomplete.
                if connection.readiness.isFinished { close(connection) }
                return .waits
            }
            // Consumes exactly the header, so that TLS begins as on other connections.
            connection.socket.skip(
                into: UnsafeMutableRawBufferPointer(rebasing: room[..<header.length])
            )
            counters.count(.bytesIn, header.length)
            counters.count(.proxyHeaders)
            guard applyProxyHeader(connection, header) else { return .advanced }
        } catch {
            acceptor.notices.refusedProxy(
                from: connection.client.peer.host,
                because: error.reason,
                at: now
            )
            counters.count(.refusedProxyHeader)
            refuseAtProxyHeader(connection, error.reason)
            return .advanced
        }
        connection.timer.mustRearm = true
        guard connection.isHandshaking else { return .advanced }
        // Handshakes take turns with those of other connections.
        scheduleTurn(connection)
        return .waits
    }

    /// Counts the connection for its client's address, whichever proxy it came through. A client
    /// that is a trusted proxy itself stands for many clients, so no address is counted. Returns
    /// false if the address is at its limit.
    private func applyProxyHeader(_ connection: ClientConnection, _ header: ProxyHeader) -> Bool {
        let client = header.client?.address
        let place = client.flatMap {
            acceptor.proxies?.rules.trusts($0) == true ? nil : $0.neighbourhood
        }
        guard let place, !port.connectionCount.assign(to: place) else {
            connection.applyProxyHeader(header, neighbourhood: place)
            return true
        }
        counters.count(.refusedPerAddress)
        acceptor.notices.refusedPerAddress(from: client?.description ?? "", at: now)
        refuseAtProxyHeader(connection, "your address has reached its limit of connections")
        return false
    }

    /// Peeks at the received bytes; nil when there are none. A connection that closes here is no
    /// error: proxies test the port this way.
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

    /// 503 makes clients keep their logs until the operator has fixed the proxy. Over TLS no answer
    /// is possible yet.
    private func refuseAtProxyHeader(_ connection: ClientConnection, _ reason: String) {
        guard !connection.socket.isSecure else { return endWithoutAnswer(connection) }
        connection.phase = .idle
        answerAndClose(RequestProblem(status: 503, reason: reason), connection)
    }
}

/// TLS handshakes. A failed handshake ends with TLS's own alert, because no request exists to
/// answer. Only a client that does not speak TLS at all gets a plain-text answer.
extension EventLoop {
    /// Handshakes in one round. Each takes up to a millisecond (an RSA signature), so a burst of
    /// new clients must not delay the answers of existing ones.
    static let handshakesPerRound = 8

    func continueHandshake(_ connection: ClientConnection) -> Step {
        // OpenSSL allocates its buffers at the first call, and a silent client needs none.
        guard connection.readiness.hasFirstBytes || checkFirstBytes(connection) else {
            return .waits
        }
        do throws(HandshakeError) {
            guard try connection.socket.handshake() else { return .waits }
        } catch {
            counters.count(.failedHandshakes)
            acceptor.journal.debug(
                "a TLS handshake failed",
                ["peer": connection.client.peer.host, "reason": error.reason]
            )
            if error.kind != .closed {
                acceptor.notices.handshakeFailed(
                    from: connection.client.peer.host,
                    because: error.reason,
                    at: now
                )
            }
            if error.kind == .plainHTTP { answerInPlainHTTP(connection) }
            endWithoutAnswer(connection)
            return .advanced
        }
        counters.count(.handshakes)
        if connection.socket.isResumed { counters.count(.resumptions) }
        if let certificate = connection.socket.clientCertificate {
            connection.applyCertificate(certificate)
        }
        connection.phase = .idle
        connection.timer.mustRearm = true
        return .advanced
    }

    /// True once the client has sent its first bytes, or has closed.
    private func checkFirstBytes(_ connection: ClientConnection) -> Bool {
        let first = UnsafeMutableRawBufferPointer(start: scratch.memory, count: 1)
        if case .wouldBlock? = try? connection.socket.peek(into: first) { return false }
        connection.readiness.hasFirstBytes = true
        return true
    }

    /// Ends the connection without an answer. The client may have sent more, and a reset would
    /// destroy the TLS alert on its way.
    func endWithoutAnswer(_ connection: ClientConnection) {
        dropBody(connection)
        beginLingering(connection)
    }

    /// The answer fits into the kernel's buffer of a new connection, so one send is enough.
    private func answerInPlainHTTP(_ connection: ClientConnection) {
        counters.count(.malformed)
        let response = handler.answer(to: .plainHTTP, head: nil, nil)
        var bytes: [UInt8] = []
        ResponseWriter(closes: true).write(response, stampedBy: handler, to: &bytes)
        counters.countAnswer(status: response.status)
        counters.count(.bytesOut, bytes.count)
        bytes.withUnsafeBytes { connection.socket.sendPlainly($0) }
    }
}

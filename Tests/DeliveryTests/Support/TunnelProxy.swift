import Glibc
import System
import TestSupport

/// A proxy as companies have them: it connects whom it knows, by CONNECT or by SOCKS 5. Every name
/// leads to this machine.
final class TunnelProxy: Sendable {
    enum Kind: Sendable { case connect, socks5 }

    struct Visit: Sendable {
        /// "host:port"
        let target: String
        /// Of a CONNECT; with SOCKS the login, "user:password".
        let head: String
    }

    let visits: SharedValue<[Visit]>
    let port: Int
    /// Who may connect: for CONNECT the line that must be in the head, for SOCKS "user:password";
    /// nil for everybody.
    let login: Locked<String?>

    private let kind: Kind
    private let listener: CInt
    private let descriptors = Locked<[CInt]>([])
    private let workers = Locked<[Worker]>([])

    init(_ kind: Kind, login: String? = nil) throws {
        self.kind = kind
        self.login = Locked(login)
        visits = SharedValue([])
        (listener, port) = try LoopbackSocket.listening()
        let acceptor = try Worker("test-proxy") { [self] in acceptAll() }
        workers.withLock { $0.append(acceptor) }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        while let worker = workers.withLock({ $0.popLast() }) {
            for descriptor in descriptors.withLock({ $0 }) {
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
            worker.join()
        }
        close(listener)
        for descriptor in descriptors.withLock({ $0 }) { close(descriptor) }
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            descriptors.withLock { $0.append(client) }
            let worker = try? Worker("test-tunnel") { [self] in
                if let server = kind == .connect ? connectByHTTP(client) : connectBySOCKS(client) {
                    relay(client, server)
                }
                shutdown(client, Int32(SHUT_RDWR))
            }
            if let worker { workers.withLock { $0.append(worker) } }
        }
    }

    private func connectByHTTP(_ client: CInt) -> CInt? {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            guard let byte = LoopbackSocket.receive(1, from: client) else { return nil }
            head.unicodeScalars.append(Unicode.Scalar(byte[0]))
        }
        let words = head.split(separator: " ")
        guard words.count > 1, words[0] == "CONNECT" else { return nil }
        let target = String(words[1])
        visits.change { [head] in $0.append(Visit(target: target, head: head)) }
        if let line = login.withLock({ $0 }), !head.contains(line) {
            let refusal =
                "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
            LoopbackSocket.send(refusal.utf8, to: client)
            return nil
        }
        guard let server = server(of: target) else { return nil }
        // Headers that must not be taken for SLS's.
        let welcome = "HTTP/1.1 200 OK\r\nx-log-requestid: PROXY\r\nx-log-time: 1\r\n\r\n"
        LoopbackSocket.send(welcome.utf8, to: client)
        return server
    }

    private func connectBySOCKS(_ client: CInt) -> CInt? {
        func take(_ count: Int) -> [UInt8]? { LoopbackSocket.receive(count, from: client) }
        func takeText() -> String? {
            take(1).flatMap { take(Int($0[0])) }.map { String(decoding: $0, as: UTF8.self) }
        }
        guard let greeting = take(2), take(Int(greeting[1])) != nil else { return nil }
        let wanted = login.withLock { $0 }
        LoopbackSocket.send([5, wanted == nil ? 0 : 2], to: client)
        var told = ""
        if let wanted {
            guard take(1) != nil, let user = takeText(), let password = takeText() else {
                return nil
            }
            told = "\(user):\(password)"
            LoopbackSocket.send([1, told == wanted ? 0 : 1], to: client)
            guard told == wanted else { return nil }
        }
        // A name, not an address: the proxy is to find it.
        guard let request = take(4), request[3] == 3, let name = takeText(), let port = take(2)
        else { return nil }
        let target = "\(name):\(Int(port[0]) << 8 | Int(port[1]))"
        visits.change { [told] in $0.append(Visit(target: target, head: told)) }
        guard let server = server(of: target) else { return nil }
        LoopbackSocket.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0], to: client)
        return server
    }

    private func server(of target: String) -> CInt? {
        let port = target.split(separator: ":").last.flatMap { Int($0) } ?? 0
        guard let server = LoopbackSocket.connected(to: port) else { return nil }
        descriptors.withLock { $0.append(server) }
        return server
    }

    private func relay(_ client: CInt, _ server: CInt) {
        var entries = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while poll(&entries, 2, -1) > 0 {
            for (index, other) in [(0, server), (1, client)] where entries[index].revents != 0 {
                let count = recv(entries[index].fd, &piece, piece.count, 0)
                guard count > 0, LoopbackSocket.send(piece[..<count], to: other) else {
                    shutdown(server, Int32(SHUT_RDWR))
                    return
                }
            }
        }
    }
}

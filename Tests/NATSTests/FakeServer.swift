import Glibc
import NATS
import System
import TestSupport

/// A server whose part in a conversation a test writes. It takes one connection after the other.
final class FakeServer {
    /// Its end of a connection. Reads block.
    struct Talk {
        fileprivate let descriptor: CInt

        @discardableResult
        func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }

        /// What the client sends up to a text; nil: it closed before.
        @discardableResult
        func read(until text: String) -> String? {
            var all: [UInt8] = []
            while !String(decoding: all, as: UTF8.self).contains(text) {
                guard let some = readSome() else { return nil }
                all += some
            }
            return String(decoding: all, as: UTF8.self)
        }

        /// What the client sends until it closes.
        func readAll() -> String {
            var all: [UInt8] = []
            while let some = readSome() { all += some }
            return String(decoding: all, as: UTF8.self)
        }

        private func readSome() -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: 64 << 10)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return count > 0 ? Array(bytes[..<count]) : nil
        }

        /// Carries bytes both ways until one side closes.
        func relay(to other: CInt) {
            var bytes = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                var entries = [descriptor, other].map {
                    pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
                }
                guard poll(&entries, 2, -1) > 0 else { return }
                for (index, to) in [other, descriptor].enumerated()
                where entries[index].revents != 0 {
                    let count = recv(entries[index].fd, &bytes, bytes.count, 0)
                    guard count > 0, Glibc.send(to, bytes, count, CInt(MSG_NOSIGNAL)) == count
                    else {
                        return
                    }
                }
            }
        }

        /// Greets the client and takes its login.
        func logIn(_ info: String = FakeServer.info()) -> Bool {
            send(info)
            guard read(until: "PING\r\n") != nil else { return false }
            return send("PONG\r\n")
        }
    }

    let address: NATSServerAddress
    /// Connections so far.
    let connections = SharedValue(0)
    private let listener: CInt
    private let current: Locked<CInt>
    private let worker: Worker

    init(_ talk: @escaping @Sendable (Talk) -> Void) throws {
        let (listener, port) = Self.listen(backlog: 16)
        self.listener = listener
        address = NATSServerAddress(host: "127.0.0.1", port: port)
        let current = Locked<CInt>(-1)
        self.current = current
        worker = try Worker("fake") { [connections] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                current.withLock { $0 = connection }
                connections.change { $0 += 1 }
                talk(Talk(descriptor: connection))
                current.withLock { $0 = -1 }
                close(connection)
            }
        }
    }

    /// Says something to each client, and adds to a list what that sends.
    static func saying(
        _ text: String,
        _ received: SharedValue<[String]> = SharedValue([])
    ) throws -> FakeServer {
        try FakeServer { talk in
            talk.send(text)
            let text = talk.readAll()
            received.change { $0.append(text) }
        }
    }

    deinit {
        shutdown(listener, CInt(SHUT_RDWR))
        current.withLock { if $0 >= 0 { shutdown($0, CInt(SHUT_RDWR)) } }
        worker.join()
        close(listener)
    }

    static func listen(backlog: CInt) -> (descriptor: CInt, port: UInt16) {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let isReady =
                    bind(listener, address, size) == 0 && Glibc.listen(listener, backlog) == 0
                    && getsockname(listener, address, &size) == 0
                precondition(isReady, "a listener cannot be made: errno \(errno)")
            }
        }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    static func info(version: String = "2.15.1", _ members: String = "") -> String {
        #"INFO {"version":"\#(version)","max_payload":1048576,"headers":true\#(members)} \#r\#n"#
    }
}

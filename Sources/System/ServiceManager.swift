import CSystem
import Glibc

/// The service manager that started the process, as systemd's sd_notify(3) describes it. Without
/// one every message goes nowhere.
package struct ServiceManager: Sendable {
    package enum News: Sendable {
        case ready
        case reloading
        case stopping
        /// What `systemctl status` shows.
        case status(String)
        /// The process works. The manager restarts it if this does not come in `watchdogTime`.
        case alive
    }

    /// A path, or "@" and a name in the abstract namespace.
    private let socketName: String?
    /// The time within which `alive` must come again; nil without a watchdog.
    package let watchdogTime: Duration?

    package init(_ environment: [String: String]) {
        socketName = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        watchdogTime =
            socketName != nil && isOurs && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Sends in the caller's thread; returns false if there is a manager and it cannot be told.
    @discardableResult
    package func tell(_ news: News...) -> Bool {
        guard let socketName else { return true }
        let text = news.map(Self.line).joined(separator: "\n")
        do throws(SystemError) {
            try Self.send(text, to: socketName)
            return true
        } catch {
            return false
        }
    }

    private static func line(_ news: News) -> String {
        switch news {
        case .ready: "READY=1"
        // systemd tells by the time if an older reload has ended.
        case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(monotonicMicroseconds)"
        case .stopping: "STOPPING=1"
        case .status(let text): "STATUS=\(text)"
        case .alive: "WATCHDOG=1"
        }
    }

    /// systemd's clock stands still while the machine is suspended, other than that of a `Moment`.
    private static var monotonicMicroseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }

    private static func send(_ text: String, to name: String) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        var path = Array(name.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw SystemError(call: "sendto", code: ENAMETOOLONG)
        }
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        let length = socklen_t(start + path.count)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = OwnedDescriptor(
            taking: try system("socket") { Glibc.socket(AF_UNIX, kind, 0) }
        )
        // A manager that does not read must not hold the gateway.
        var patience = timeval(tv_sec: 2, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        _ = setsockopt(socket.number, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
        let (number, noSignal) = (socket.number, CInt(MSG_NOSIGNAL))
        _ = try system("sendto") {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.sendto(number, text, text.utf8.count, noSignal, $0, length)
                }
            }
        }
    }
}

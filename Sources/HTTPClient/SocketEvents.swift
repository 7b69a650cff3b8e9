import CCurl
import CSystem
import Glibc
import System

/// The sockets that curl's multi handle waits for, in an epoll instance. curl tells of each socket
/// and of its timer by callbacks, so that a wake costs what is ready and not what is in flight.
///
/// For the handle's thread only, except `wakeUp`. The handle keeps a pointer to it.
final class SocketEvents {
    struct Ready {
        let socket: CInt
        /// `CURL_CSELECT_…`
        let events: CInt
    }

    private static let eventsMax = 64

    let wakeUp: WakeUp
    private let epoll: OwnedDescriptor
    /// What curl waits for, by socket.
    private var watched: [CInt: CInt] = [:]
    private var hasLostConnecting = false
    /// When curl goes on without an event.
    private var deadline: Moment?
    private var ready: [Ready] = []
    /// A signal was seen since the last wait.
    private var isWoken = false
    private(set) var isBroken = false

    init() throws(SystemError) {
        epoll = OwnedDescriptor(
            taking: try system("epoll_create1") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        )
        wakeUp = try WakeUp()
        change(EPOLL_CTL_ADD, wakeUp.descriptor, EPOLLIN.rawValue)
    }

    // MARK: - What curl tells

    func attach(to handle: UnsafeMutableRawPointer) {
        sluice_curl_set_events(
            handle,
            { _, socket, what, events, _ in
                SocketEvents.of(events).watch(socket, for: what)
                return 0
            },
            { _, milliseconds, events in
                SocketEvents.of(events).deadline =
                    milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
                return 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> SocketEvents {
        guard let pointer else { preconditionFailure("curl gives back the pointer") }
        return Unmanaged.fromOpaque(pointer).takeUnretainedValue()
    }

    private func watch(_ socket: CInt, for what: CInt) {
        guard what != CURL_POLL_REMOVE else {
            guard let last = watched.removeValue(forKey: socket) else { return }
            if last == CURL_POLL_OUT { hasLostConnecting = true }
            // curl may have closed it, which ends the watch.
            var event = epoll_event()
            epoll_ctl(epoll.number, EPOLL_CTL_DEL, socket, &event)
            return
        }
        let readable = what & CURL_POLL_IN != 0 ? EPOLLIN.rawValue : 0
        let writable = what & CURL_POLL_OUT != 0 ? EPOLLOUT.rawValue : 0
        let isNew = watched.updateValue(what, forKey: socket) == nil
        change(isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, readable | writable)
    }

    private func change(_ operation: CInt, _ descriptor: CInt, _ events: UInt32) {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        if epoll_ctl(epoll.number, operation, descriptor, &event) != 0 { isBroken = true }
    }

    // MARK: - What is ready

    /// Sleeps until something is ready, curl's timer or the timeout.
    func wait(_ timeout: Duration, watching watch: TransferLoop.Watch?) {
        defer { isWoken = false }
        guard ready.isEmpty, !isWoken else { return }
        let wait = min(timeout, deadline.map { max(.zero, $0 - .now) } ?? timeout)
        let milliseconds = CInt(clamping: wait.milliseconds)
        guard let watch else { return look(milliseconds) }
        var entries = [pollfd(fd: epoll.number, events: Int16(POLLIN), revents: 0), watch.entry]
        poll(&entries, 2, milliseconds)
        look(0)
    }

    /// Takes out the sockets that are ready now.
    func takeReady(_ use: (Ready) -> Void) {
        if ready.isEmpty { look(0) }
        for entry in ready { use(entry) }
        ready.removeAll(keepingCapacity: true)
    }

    /// True once after a socket went that was still connecting. curl 7.88 then goes on to the
    /// host's next address only when it is called for this transfer, but it sets no timer.
    func takeLostConnecting() -> Bool {
        defer { hasLostConnecting = false }
        return hasLostConnecting
    }

    /// True once for each time that curl's timer has run out.
    func takeTimeout() -> Bool {
        guard let deadline, deadline <= .now else { return false }
        self.deadline = nil
        return true
    }

    private func look(_ milliseconds: CInt) {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventsMax) { room in
            let count = epoll_wait(epoll.number, room.baseAddress, CInt(room.count), milliseconds)
            // A signal, for example of a debugger; returning early does no harm.
            guard count >= 0 else { return isBroken = isBroken || errno != EINTR }
            for event in room[..<Int(count)] {
                guard event.data.fd != wakeUp.descriptor else {
                    wakeUp.clear()
                    isWoken = true
                    continue
                }
                ready.append(Ready(socket: event.data.fd, events: event.curlEvents))
            }
        }
    }
}

extension epoll_event {
    fileprivate var curlEvents: CInt {
        let readable = events & EPOLLIN.rawValue != 0 ? CURL_CSELECT_IN : 0
        let writable = events & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0
        // Reading or writing tells the reason.
        let failed = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0
        return failed ? CURL_CSELECT_IN | CURL_CSELECT_OUT : readable | writable
    }
}

extension TransferLoop.Watch {
    fileprivate var entry: pollfd {
        switch self {
        case .readable(let descriptor): pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // poll always reports errors and hang-ups.
        case .broken(let descriptor): pollfd(fd: descriptor, events: 0, revents: 0)
        }
    }
}

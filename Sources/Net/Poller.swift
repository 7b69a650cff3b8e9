import CSystem
import Glibc
package import System

/// The recipient of an event: a slot of the owner's table, and the slot's generation.
///
/// A slot is reused as soon as it is free, even within one round of events. The generation tells
/// stale events of the slot's earlier user from current ones.
package struct PollToken: Hashable, Sendable {
    package let slot: UInt32
    package let generation: UInt32

    package init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    fileprivate init(_ data: UInt64) {
        self.init(slot: UInt32(truncatingIfNeeded: data), generation: UInt32(data >> 32))
    }

    fileprivate var data: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// What a watched descriptor may be ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// The peer sent FIN. Bytes may precede it.
    package static let finished = Readiness(rawValue: 4)
    /// The connection is closed in both directions.
    package static let gone = Readiness(rawValue: 8)
}

package struct PollEvent: Sendable {
    package let token: PollToken
    package let readiness: Readiness
}

/// An epoll instance.
///
/// Connections are watched edge-triggered in both directions: one `epoll_ctl` in a connection's
/// life, whatever its state. In return, the owner remembers what is ready until a call would block.
package final class Poller: Sendable {
    private let epoll: OwnedDescriptor

    package init() throws(SystemError) {
        epoll = OwnedDescriptor(
            taking: try system("epoll_create1") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        )
    }

    /// Reports each change of readiness once. Closing the descriptor ends the watch.
    package func watchChanges(of descriptor: CInt, for token: PollToken) throws(SystemError) {
        let events =
            EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        try watch(descriptor, events, token)
    }

    /// Reports readability once for each signal, so a wake-up needs no read to clear it.
    package func watchSignals(of descriptor: CInt, for token: PollToken) throws(SystemError) {
        try watch(descriptor, EPOLLIN.rawValue | EPOLLET.rawValue, token)
    }

    /// Reports as long as input is available. Of several pollers that share a descriptor, the
    /// kernel wakes one.
    package func watchInput(
        of descriptor: CInt,
        for token: PollToken,
        isShared: Bool = false
    ) throws(SystemError) {
        try watch(descriptor, EPOLLIN.rawValue | (isShared ? EPOLLEXCLUSIVE.rawValue : 0), token)
    }

    /// Ends a watch. The call fails only for an unwatched descriptor, which is harmless.
    package func forget(_ descriptor: CInt) {
        var event = epoll_event()
        _ = epoll_ctl(epoll.number, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Waits for events and writes them to `events`; a nil timeout waits without limit.
    package func wait(
        timeout: Duration?,
        into events: inout [PollEvent]
    ) throws(SystemError) {
        events.removeAll(keepingCapacity: true)
        let milliseconds = timeout.map { CInt(clamping: max(0, $0.milliseconds)) } ?? -1
        try withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 256) {
            room throws(SystemError) in
            let count = epoll_wait(epoll.number, room.baseAddress, CInt(room.count), milliseconds)
            guard count >= 0 else {
                let code = errno
                // A signal, for example of a debugger; returning early does no harm.
                guard code == EINTR else { throw SystemError(call: "epoll_wait", code: code) }
                return
            }
            for event in room[..<Int(count)] {
                events.append(
                    PollEvent(token: PollToken(event.data.u64), readiness: Readiness(event.events))
                )
            }
        }
    }

    private func watch(
        _ descriptor: CInt,
        _ events: UInt32,
        _ token: PollToken
    ) throws(SystemError) {
        var event = epoll_event(events: events, data: epoll_data_t(u64: token.data))
        _ = try system("epoll_ctl") { epoll_ctl(epoll.number, EPOLL_CTL_ADD, descriptor, &event) }
    }
}

extension Readiness {
    fileprivate init(_ events: UInt32) {
        var readiness: Readiness = []
        if events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if events & EPOLLRDHUP.rawValue != 0 { readiness.formUnion([.readable, .finished]) }
        if events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { readiness.insert(.gone) }
        self = readiness
    }
}

import CSystem
import Glibc
package import System

/// Who an event is for: a slot of the owner's table, and the generation of what it holds.
///
/// A slot is used again as soon as it is free, also within one round of events. The generation tells
/// an event for the earlier user from one for the present user.
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

/// What may have become possible for a watched descriptor.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// The other end has sent FIN. There may be bytes before it.
    package static let finished = Readiness(rawValue: 4)
    /// The connection is gone in both directions.
    package static let gone = Readiness(rawValue: 8)
}

package struct PollEvent: Sendable {
    package let token: PollToken
    package let readiness: Readiness
}

/// An epoll instance.
///
/// Connections are watched edge-triggered and for both directions at once: one `epoll_ctl` in a
/// connection's life, whatever state it goes through. The price is that the owner remembers what is
/// ready until a call says otherwise.
package final class Poller: Sendable {
    private let epoll: OwnedDescriptor

    package init() throws(SystemError) {
        epoll = OwnedDescriptor(
            taking: try system("epoll_create1") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        )
    }

    /// Reports each change of readiness once. Closing the descriptor ends it.
    package func watchChanges(of descriptor: CInt, for token: PollToken) throws(SystemError) {
        let events =
            EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        try watch(descriptor, events, token)
    }

    /// Reports readability once for each signal, so that a wake-up needs no read to be cleared.
    package func watchSignals(of descriptor: CInt, for token: PollToken) throws(SystemError) {
        try watch(descriptor, EPOLLIN.rawValue | EPOLLET.rawValue, token)
    }

    /// Reports as long as something can be read.
    package func watchInput(of descriptor: CInt, for token: PollToken) throws(SystemError) {
        try watch(descriptor, EPOLLIN.rawValue, token)
    }

    /// Ends what `watch…` began. It fails only for what is not watched, which is as wanted.
    package func forget(_ descriptor: CInt) {
        var event = epoll_event()
        _ = epoll_ctl(epoll.number, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Waits for events and writes them to `events`; nil waits without end.
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
                // A debugger's or profiler's signal: an early look does no harm.
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

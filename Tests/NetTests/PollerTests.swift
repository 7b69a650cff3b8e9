import Glibc
import System
import Testing

@testable import Net

@Suite struct PollerTests {
    @Test("An event names the generation that was registered, also when the slot has a new user")
    func generations() throws {
        let poller = try Poller()
        let (near, far) = try socketPair()
        let old = PollToken(slot: 7, generation: 1)
        try poller.watchChanges(of: near.number, for: old)
        #expect(write(far.number, "x", 1) == 1)
        var events: [PollEvent] = []
        try poller.wait(timeout: .seconds(5), into: &events)
        #expect(events.map(\.token) == [old])
        #expect(events[0].readiness.contains(.readable))
        #expect(events[0].token != PollToken(slot: 7, generation: 2))
    }

    @Test("An event is reported once")
    func edges() throws {
        let poller = try Poller()
        let (near, far) = try socketPair()
        try poller.watchChanges(of: near.number, for: PollToken(slot: 1, generation: 1))
        var events: [PollEvent] = []
        try poller.wait(timeout: .zero, into: &events)
        #expect(events.map(\.readiness) == [.writable])
        try poller.wait(timeout: .zero, into: &events)
        #expect(events.isEmpty)
        shutdown(far.number, CInt(SHUT_WR))
        try poller.wait(timeout: .seconds(5), into: &events)
        #expect(events.first?.readiness.isSuperset(of: [.readable, .finished]) == true)
    }

    @Test("A signal is reported again without a clear")
    func signals() throws {
        let poller = try Poller()
        let wakeUp = try WakeUp()
        try poller.watchSignals(of: wakeUp.descriptor, for: PollToken(slot: 1, generation: 0))
        var events: [PollEvent] = []
        for _ in 0..<3 {
            wakeUp.signal()
            try poller.wait(timeout: .seconds(5), into: &events)
            #expect(events.count == 1)
            try poller.wait(timeout: .zero, into: &events)
            #expect(events.isEmpty)
        }
    }

    private func socketPair() throws -> (near: DescriptorBox, far: DescriptorBox) {
        var pair: [CInt] = [0, 0]
        _ = try system("socketpair") {
            socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
        }
        return (DescriptorBox(pair[0]), DescriptorBox(pair[1]))
    }

    private final class DescriptorBox {
        private let descriptor: OwnedDescriptor

        init(_ number: CInt) { descriptor = OwnedDescriptor(taking: number) }

        var number: CInt { descriptor.number }
    }
}

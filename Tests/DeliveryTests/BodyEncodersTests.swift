import System
import TestSupport
import Testing

@testable import Delivery

/// Threads that encode bodies.
@Suite(.timeLimit(.minutes(10))) struct BodyEncodersTests {
    @Test("Each body comes back once, damaged ones too, and few are encoded at a time")
    func bodies() throws {
        let wakes = SharedValue(0)
        let encoders = BodyEncoders { wakes.change { $0 += 1 } }
        defer { encoders.stop() }
        let isHeld = SharedValue(true)
        var tickets = 0
        while !encoders.isFull {
            tickets += 1
            let number = tickets
            encoders.begin(for: 7, ticket: number) { () throws(Unsendable) in
                _ = isHeld.wait { !$0 }
                guard number % 2 == 0 else { throw Unsendable(reason: "\(number)") }
                return PacketBody(pieces: [[UInt8(number)]], rawBytes: number)
            }
        }
        #expect(tickets > 1 && wakes.now == 0)
        isHeld.change { $0 = false }
        var found: [Int: BodyEncoders.Outcome] = [:]
        let areAllThere = eventually {
            for body in encoders.takeEncoded() {
                #expect(body.destination == 7 && found[body.ticket] == nil)
                found[body.ticket] = body.outcome
            }
            return found.count == tickets
        }
        #expect(areAllThere)
        #expect(!encoders.isFull)
        for (number, outcome) in found {
            switch outcome {
            case .success(let body): #expect(number % 2 == 0 && body.rawBytes == number)
            case .failure(let error): #expect(number % 2 == 1 && error.reason == "\(number)")
            }
        }
    }

    @Test("A destination that waits for a thread is looked at when a body is there")
    func waiters() throws {
        let encoders = BodyEncoders {}
        defer { encoders.stop() }
        let agenda = DeliveryAgenda()
        let entry = agenda.join()
        _ = agenda.take(.now)
        entry.done(hasMore: false, next: nil)
        encoders.wait(entry)
        #expect(agenda.take(.now).isEmpty)
        encoders.begin(for: 1, ticket: 1) { PacketBody(pieces: [], rawBytes: 0) }
        #expect(eventually { !encoders.takeEncoded().isEmpty })
        #expect(agenda.take(.now).map(\.number) == [entry.number])
    }
}

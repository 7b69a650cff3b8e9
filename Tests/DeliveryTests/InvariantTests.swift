import Logs
import Queue
import System
import Testing

@testable import Delivery

/// What our own code must never do ends the process, in a release, too.
@Suite(.timeLimit(.minutes(10))) struct InvariantTests {
    static func packet(_ number: Int64) -> SealedPacket {
        SealedPacket(
            id: .home(number),
            stream: StreamKey(
                destination: "app",
                logstore: "a",
                trailer: GroupTrailer(bytes: [])
            ),
            streamID: .any,
            packID: "p",
            rows: number...number,
            logCount: 1,
            rawBytes: 1,
            oldest: .now,
            recent: nil,
            lane: nil,
            isRecovered: false
        )
    }

    static func leases() throws -> LeaseKeeper {
        let settings = try Samples.destination(port: 1)
        return LeaseKeeper(
            MemorySource(),
            StatusPublisher(Locked(DestinationStatus(settings)))
        )
    }

    @Test("A lease ends once, and may begin again afterwards")
    func leases() throws {
        let leases = try Self.leases()
        let lease = Lease(Self.packet(1))
        for _ in 0..<2 {
            leases.began(lease)
            #expect(leases.count == 1)
            leases.giveBack([lease])
            #expect(leases.count == 0)
        }
    }

    @Test("A lease that ends twice ends the process")
    func leaseTwice() async {
        await #expect(processExitsWith: .failure) {
            let leases = try Self.leases()
            let lease = Lease(Self.packet(1))
            leases.began(lease)
            leases.giveBack([lease])
            leases.giveBack([lease])
        }
    }

    @Test("A packet that is handed over twice ends the process")
    func packetTwice() async {
        await #expect(processExitsWith: .failure) {
            let leases = try Self.leases()
            leases.began(Lease(Self.packet(1)))
            leases.began(Lease(Self.packet(1)))
        }
    }

    @Test("A pass that is given back twice ends the process")
    func passTwice() async {
        await #expect(processExitsWith: .failure) {
            var gate = Gate(most: 4)
            let pass = gate.enter(.now, bytes: 1)
            _ = gate.leave(pass, .stored, .now, random: 0)
            _ = gate.leave(pass, .stored, .now, random: 0)
        }
    }

    @Test("Memory that is given back twice ends the process")
    func memoryTwice() async {
        await #expect(processExitsWith: .failure) {
            var share = MemoryShare(DeliveryMemory(max: 1000), DeliveryAgenda().join())
            share.reserve(body: 10)
            share.release(body: 10)
            share.release(body: 10)
        }
    }
}

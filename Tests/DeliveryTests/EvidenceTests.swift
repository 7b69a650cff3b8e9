import System
import Testing

@testable import Delivery

@Suite struct EvidenceTests {
    let now = Moment(nanoseconds: 1_000_000_000_000)
    let lease = PacketLineTests.lease(1)

    @Test("Without a stored packet no packet is convicted")
    func none() {
        #expect(!Evidence().isPacketAtFault(lease, now))
    }

    @Test(
        "A packet stored lately proves others at fault, until too much time or too many suspects have passed"
    )
    func lately() {
        var evidence = Evidence()
        evidence.stored(now)
        #expect(evidence.isPacketAtFault(lease, now + .seconds(1)))
        #expect(!evidence.isPacketAtFault(lease, now + Evidence.lasts))
        for _ in 0...Evidence.suspectsMax { evidence.suspected() }
        #expect(!evidence.isPacketAtFault(lease, now + .seconds(1)))
    }

    @Test(
        "A packet stored after the first failure proves the fault, however many suspects there are"
    )
    func since() {
        var evidence = Evidence()
        var lease = lease
        lease.firstFailure = now
        evidence.stored(now + .seconds(1))
        for _ in 0..<100 { evidence.suspected() }
        #expect(evidence.isPacketAtFault(lease, now + .seconds(1000)))
        lease.firstFailure = now + .seconds(2)
        #expect(!evidence.isPacketAtFault(lease, now + .seconds(3)))
    }

    @Test("Other settings need other evidence")
    func forgotten() {
        var evidence = Evidence()
        evidence.stored(now)
        evidence.forget()
        #expect(!evidence.isPacketAtFault(lease, now))
    }

    @Test("After so many lone logs refused in a row content is doubted, until one is stored")
    func everything() {
        var evidence = Evidence()
        for _ in 0..<1000 {
            let isDoubted = evidence.refused(isAlone: false)
            #expect(!isDoubted, "each of these may have a bad log")
            let isReplayDoubted = evidence.refused(isAlone: true, isReplayed: true)
            #expect(!isReplayDoubted, "it was refused before")
        }
        for _ in 0..<Evidence.loneRefusalsMax {
            let isDoubted = evidence.refused(isAlone: true)
            #expect(!isDoubted)
        }
        let (isAloneDoubted, isWholeDoubted) =
            (evidence.refused(isAlone: true), evidence.refused(isAlone: false))
        #expect(isAloneDoubted && isWholeDoubted)
        evidence.stored(now)
        let isStillDoubted = evidence.refused(isAlone: true)
        #expect(!isStillDoubted)
    }

    @Test("So many packets are halved without evidence, and again after a stored one")
    func halvings() {
        var evidence = Evidence()
        var halvings = 0
        while evidence.spendHalving() { halvings += 1 }
        #expect(halvings == Evidence.halvingsMax)
        evidence.stored(now)
        let mayHalveAgain = evidence.spendHalving()
        #expect(mayHalveAgain)
    }
}

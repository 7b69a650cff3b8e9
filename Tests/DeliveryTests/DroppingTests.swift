import Configuration
import Crypto
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// When `drop_unauthorized` drops, and when it does not.
@Suite(.timeLimit(.minutes(10))) struct DroppingTests {
    private func rig(_ server: ScriptedServer, retry: Backoff = PauseTests.quick) throws -> Rig {
        try Rig(server) {
            $0.transfer.dropsUnauthorized = true
            $0.transfer.retry = retry
        }
    }

    @Test("The second try waits for the gate that the first refusal has closed")
    func patience() throws {
        let server = try ScriptedServer { _, _ in .answer(401, code: "Unauthorized") }
        let rig = try rig(server, retry: PauseTests.patient)
        rig.source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("logstore is paused") } })
        // The wait is up to ten minutes.
        #expect(!server.requests.wait(.milliseconds(300)) { $0.count > 1 })
        #expect(rig.source.state.now.discarded.isEmpty)
        rig.stop()
    }

    @Test("A refusal of a credential that is not in use any more does not count")
    func rotated() throws {
        let next = Locked(0)
        let holder = Locked<Locked<Credential?>?>(nil)
        let server = try ScriptedServer { request, _ in
            // Another one is in use each time a refusal comes back, eight times in a row.
            let number = next.withLock { number in
                number += 1
                return number
            }
            guard number <= 8 else { return .stored }
            let new = Credential(accessKeyID: "key\(number)", secret: Secret("secret"))
            holder.withLock { $0 }?.withLock { $0 = new }
            return .answer(401, code: "Unauthorized")
        }
        let rig = try rig(server)
        holder.withLock { $0 = rig.credential }
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(rig.source.state.now.discarded.isEmpty)
        #expect(server.requests.now.count == 9)
    }

    @Test("Each credential is refused twice before a packet goes for it")
    func twice() throws {
        let holder = Locked<Locked<Credential?>?>(nil)
        let server = try ScriptedServer { _, number in
            if number == 1 {
                let new = Credential(accessKeyID: "newkeyid", secret: Secret("secret"))
                holder.withLock { $0 }?.withLock { $0 = new }
            }
            return .answer(401, code: "Unauthorized")
        }
        let rig = try rig(server)
        holder.withLock { $0 = rig.credential }
        rig.source.offer(1)
        #expect(rig.source.state.wait { $0.discarded.count == 1 })
        rig.stop()
        // Once with the first one, once while it was changed, twice with the new one.
        #expect(server.requests.now.count == 4)
    }

    @Test(
        "What has expired or lacks denies nothing",
        arguments: [
            ("SecurityTokenExpired", ""), ("SecurityToken.Expired", ""),
            ("Unauthorized", "The security token you provided has expired"),
        ]
    )
    func expired(code: String, message: String) throws {
        let server = try ScriptedServer { _, number in
            number < 10 ? .answer(401, code: code, message: message) : .stored
        }
        let rig = try rig(server)
        #expect(rig.source.offerAndWait(1))
        rig.stop()
        #expect(rig.source.state.now.discarded.isEmpty)
    }

    @Test("While there is no credential, packets refused with the last one are kept")
    func withdrawn() throws {
        let holder = Locked<Locked<Credential?>?>(nil)
        let server = try ScriptedServer { _, number in
            guard number < 2 else { return .stored }
            if number == 1 { holder.withLock { $0 }?.withLock { $0 = nil } }
            return .answer(401, code: "Unauthorized")
        }
        let rig = try rig(server)
        holder.withLock { $0 = rig.credential }
        rig.source.offer(1)
        #expect(eventually { rig.status.isWaitingForCredential })
        rig.credential.withLock { $0 = Samples.credential }
        rig.forwarder.credentialsChanged()
        #expect(rig.source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(rig.source.state.now.discarded.isEmpty)
    }
}

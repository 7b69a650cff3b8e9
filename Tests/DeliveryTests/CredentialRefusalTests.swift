import Configuration
import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// A refused credential is refused for all who have it.
@Suite(.timeLimit(.minutes(10))) struct CredentialRefusalTests {
    private static let unknown = ScriptedServer.Reply.answer(401, code: "TokenWithdrawn")

    /// Two destinations of one credential, and those who hear what becomes of it.
    private struct Pair {
        let source: MemorySource
        let server: ScriptedServer
        let forwarder: Forwarder
        let credential = Locked(Samples.credential)
        let refused = Locked<[Credential]>([])
        let accepted = Locked(0)

        init(
            _ answer: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Reply,
            _ waits: Backoff
        ) throws {
            source = MemorySource()
            server = try ScriptedServer { request, _ in answer(request) }
            let (credential, refused, accepted) = (credential, refused, accepted)
            var door = CredentialDoor { _ in credential.withLock { $0 } }
            door.refused = { _, refusal in refused.withLock { $0.append(refusal) } }
            door.accepted = { _ in accepted.withLock { $0 += 1 } }
            let port = server.port
            forwarder = try Forwarder(
                ["app", "audit"].map { name in
                    var settings = try Samples.destination(port: port, name: name)
                    settings.transfer.retry = waits
                    return settings
                },
                source: source,
                credentials: door,
                journal: .silent,
                memoryMax: LimitSettings().deliveryBytes
            )
            try forwarder.start()
        }

        func stop() {
            forwarder.stop(server)
        }
    }

    @Test(
        "An unknown code asks the source for another credential and pauses all its destinations"
    )
    func unknown() throws {
        let isRotated = Locked(false)
        let pair = try Pair(
            { _ in isRotated.withLock { $0 } ? .stored : Self.unknown },
            PauseTests.patient
        )
        pair.source.offer(1, to: "app")
        #expect(eventually { pair.refused.withLock { $0 } == [Samples.credential] })
        for status in [0, 1] {
            #expect(
                eventually {
                    guard case .paused(let reason, _) = pair.forwarder.status[status].state else {
                        return false
                    }
                    return reason.contains("TokenWithdrawn")
                        && reason.contains("check the credential")
                }
            )
        }
        pair.source.offer(2, to: "audit")
        #expect(pair.server.requests.now.count == 1, "the other one need not find out by itself")
        isRotated.withLock { $0 = true }
        pair.credential.withLock {
            $0 = Credential(accessKeyID: "next", secret: Secret("next-secret"))
        }
        pair.forwarder.credentialsChanged()
        #expect(pair.source.state.wait { Set($0.acknowledged) == [1, 2] })
        pair.stop()
        #expect(pair.forwarder.status.allSatisfy { $0.pauses[.failure(.unauthorized)] == 1 })
        #expect(pair.accepted.withLock { $0 } == 1)
    }

    @Test("One logstore that is refused so pauses alone once the others store packets")
    func narrowed() throws {
        let pair = try Pair(
            { $0.logstore == "closed" ? Self.unknown : .stored },
            PauseTests.quick
        )
        pair.source.offer(1, to: "app", logstore: "closed")
        #expect(eventually { !pair.refused.withLock { $0 }.isEmpty })
        pair.source.offer(2, to: "app")
        #expect(pair.source.state.wait { $0.acknowledged == [2] })
        #expect(
            eventually {
                let outlets = pair.forwarder.status[0].outlets
                guard case .paused = outlets.first(where: { $0.logstore == "closed" })?.state else {
                    return false
                }
                return pair.forwarder.status[0].state == .running
            }
        )
        for number in 3...9 as ClosedRange<Int64> { pair.source.offer(number, to: "app") }
        #expect(pair.source.state.wait { Set($0.acknowledged) == Set(2...9) })
        pair.stop()
        #expect(pair.refused.withLock { $0 }.count == 1)
        #expect(pair.accepted.withLock { $0 } == 1)
    }

    @Test("Ten logstores that are refused so hardly delay a good one")
    func tenRefused() throws {
        let server = try ScriptedServer { request, _ in
            request.logstore == "good" ? .stored : Self.unknown
        }
        let rig = try Rig(server) {
            $0.transfer.retry = Backoff(first: .milliseconds(10), longest: .seconds(60))
        }
        for number in 1...10 as ClosedRange<Int64> {
            rig.source.offer(number, logstore: "refused-\(number)")
        }
        // Each is tried once, most of them before the first answer. Then the longest wait doubles
        // from 10 ms on. The wait itself is drawn from none to the longest, so four seconds hold
        // nine more or some luckier draws, where a wait that does not grow would send 400.
        #expect(server.requests.wait(.seconds(30)) { $0.count >= 11 })
        #expect(!server.requests.wait(.seconds(4)) { $0.count > 40 })
        rig.source.offer(11, logstore: "good")
        // A logstore that was not refused waits for a second at most, and its packet is the next
        // one.
        #expect(rig.source.state.wait(.seconds(5)) { $0.acknowledged == [11] })
        rig.source.offer(12, logstore: "good")
        #expect(rig.source.state.wait(.seconds(5)) { $0.acknowledged == [11, 12] })
        #expect(
            eventually {
                rig.status.state == .running
                    && rig.status.outlets.allSatisfy {
                        ($0.state == .running) == ($0.logstore == "good")
                    }
            }
        )
        rig.stop()
    }
}

@Suite struct CredentialStandingTests {
    private let one = Samples.credential
    private let other = Credential(accessKeyID: "other", secret: Secret("s"))
    private let now = Moment(nanoseconds: 1_000_000_000_000)

    @Test("A refusal is news once, and ends with a packet sent after it or with another credential")
    func news() {
        var standing = CredentialStanding()
        let (first, again) = (standing.refused(one, now), standing.refused(one, now))
        #expect(first && !again)
        let early = standing.stored(one, sent: now + .seconds(-1), now + .seconds(1))
        #expect(!early, "it was on its way before the refusal")
        let late = standing.stored(one, sent: now + .seconds(1), now + .seconds(2))
        #expect(late)
        let anew = standing.refused(one, now + .seconds(3))
        #expect(anew)
        let byOther = standing.stored(other, sent: now, now + .seconds(4))
        #expect(byOther)
    }

    @Test("It is good elsewhere while it stores something once a minute after a refusal")
    func cleared() {
        var standing = CredentialStanding()
        _ = standing.stored(one, sent: now, now)
        #expect(!standing.isGoodElsewhere(one, now), "what was stored before says nothing")
        _ = standing.refused(one, now)
        #expect(!standing.isGoodElsewhere(one, now))
        _ = standing.stored(one, sent: now + .seconds(1), now + .seconds(1))
        #expect(standing.isGoodElsewhere(one, now + .seconds(60)))
        #expect(!standing.isGoodElsewhere(other, now + .seconds(2)))
        _ = standing.stored(one, sent: now + .seconds(50), now + .seconds(50))
        #expect(standing.isGoodElsewhere(one, now + .seconds(109)))
        #expect(!standing.isGoodElsewhere(one, now + .seconds(110)))
        _ = standing.refused(one, now + .seconds(110))
        #expect(!standing.isGoodElsewhere(one, now + .seconds(110)))
    }
}

/// A destination that looks for its credential in a keeper.
@Suite struct CredentialAccessTests {
    let start = Moment(nanoseconds: 1)
    let given = Locked<Credential?>(nil)
    var credential: DestinationCredential

    init() throws {
        let given = given
        credential = DestinationCredential(
            try Samples.destination(port: 1),
            CredentialDoor { _ in given.withLock { $0 } },
            CredentialRefusals()
        )
    }

    /// Looks while the keeper has this one.
    mutating func look(
        _ now: Moment,
        _ given: Credential?,
        expecting signer: Signer?,
        _ change: DestinationCredential.Change,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        self.given.withLock { $0 = given }
        let seen = credential.look(now)
        #expect(seen.0 == signer, sourceLocation: sourceLocation)
        #expect(seen.1 == change, sourceLocation: sourceLocation)
    }

    static let signer = Signer.credential(Samples.credential)

    @Test("A credential that is there from the start is worth no word")
    mutating func present() {
        #expect(credential.isMissing)
        look(start, Samples.credential, expecting: Self.signer, .first)
        #expect(!credential.isMissing)
        look(start, Samples.credential, expecting: Self.signer, .none)
    }

    @Test("A missing one is asked for with growing waits, told once, and told when it comes")
    mutating func missing() {
        let reason = "there is no credential of the name 'default'"
        look(start, nil, expecting: nil, .lost(reason: reason))
        #expect(credential.nextLook == start + .seconds(1))
        // Before its time nobody is asked.
        look(start, Samples.credential, expecting: nil, .none)
        let second = start + .seconds(1)
        look(second, nil, expecting: nil, .none)
        #expect(credential.nextLook == second + .seconds(2))
        look(start + .seconds(3), Samples.credential, expecting: Self.signer, .found)
    }

    @Test("A rotation is looked at without waiting")
    mutating func lookNow() {
        _ = credential.look(start)
        credential.lookNow()
        look(start, Samples.credential, expecting: Self.signer, .found)
    }

    @Test("A credential that cannot be sent is as good as none, and says why")
    mutating func unusable() throws {
        let broken = Credential(accessKeyID: "id", secret: Secret("s\n"))
        let problem = try #require(broken.problem)
        look(start, broken, expecting: nil, .lost(reason: problem))
        #expect(problem.contains("the access key secret"))
    }
}

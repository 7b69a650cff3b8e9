import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Credentials

@Suite(.timeLimit(.minutes(10))) struct KeeperPushTests {
    private let time = ManualClock(at: Samples.now)

    private func keeper() throws -> CredentialKeeper {
        let keeper = try CredentialKeeper(Samples.surroundings([:], time))
        try keeper.replace(["default": .fixed(Samples.key), "pushed": .admin])
        return keeper
    }

    @Test("A pushed credential outranks the source until it is forgotten")
    func outranks() throws {
        let keeper = try keeper()
        defer { keeper.stop() }
        let changes = SharedValue<[[String]]>([])
        keeper.whenChanged { names in changes.change { $0.append(names) } }
        #expect(keeper.credential(named: "pushed") == nil)
        #expect(keeper.status.map(\.state) == [.ok, .missing])
        try keeper.push("default", PushedCredential(Samples.supplied(Samples.issued(1))))
        try keeper.push("pushed", PushedCredential(Samples.supplied(Samples.issued(2))))
        #expect(keeper.credential(named: "default") == Samples.issued(1))
        #expect(keeper.credential(named: "pushed") == Samples.issued(2))
        #expect(keeper.status[0].isPushed)
        keeper.forget("default")
        keeper.forget("pushed")
        #expect(keeper.credential(named: "default") == Samples.key)
        #expect(keeper.credential(named: "pushed") == nil)
        #expect(changes.now == [["default"], ["pushed"], ["default"], ["pushed"]])
        keeper.forget("default")
        #expect(changes.now.count == 4)
    }

    /// A closure that is wrapped once more each time it is told takes more memory each time, and in
    /// the end the stack.
    @Test("However often it changes, whoever is told is called as directly as the first time")
    func manyChanges() throws {
        let keeper = try keeper()
        defer { keeper.stop() }
        let places = Locked<[UInt]>([])
        keeper.whenChanged { _ in
            var here = 0
            let place = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
            places.withLock { $0.append(place) }
        }
        for number in 1...100 {
            try keeper.push("pushed", PushedCredential(Samples.supplied(Samples.issued(number))))
        }
        let reached = places.withLock { $0 }
        #expect(reached.count == 100)
        #expect(Set(reached).count == 1, "from \(reached[0]) to \(reached[99])")
    }

    @Test("The next one is used from its activation on, and is told then")
    func activation() throws {
        let keeper = try keeper()
        defer { keeper.stop() }
        let changes = SharedValue<[[String]]>([])
        keeper.whenChanged { names in changes.change { $0.append(names) } }
        let next = Samples.supplied(Samples.issued(1), lasting: .seconds(3600))
        let when = Samples.now + .seconds(600)
        try keeper.push("default", PushedCredential(next, activation: when))
        #expect(keeper.credential(named: "default") == Samples.key)
        #expect(
            keeper.status[0].next == .init(fingerprint: next.fingerprint, activation: when)
        )
        #expect(keeper.pushed("default") == [PushedCredential(next, activation: when)])
        time.advance(.seconds(599))
        #expect(keeper.credential(named: "default") == Samples.key)
        time.advance(.seconds(1))
        #expect(keeper.credential(named: "default") == Samples.issued(1))
        #expect(changes.wait { $0 == [["default"]] })
        #expect(keeper.status[0].next == nil)
        #expect(keeper.pushed("default") == [PushedCredential(next)])
    }

    @Test("What cannot be used is refused, and the old one stays")
    func refused() throws {
        let keeper = try keeper()
        defer { keeper.stop() }
        func refusal(_ name: String, _ pushed: PushedCredential) -> PushRefusal? {
            do throws(PushRefusal) {
                try keeper.push(name, pushed)
                return nil
            } catch {
                return error
            }
        }
        let old = Samples.supplied(lasting: .seconds(3600), since: Samples.now + .seconds(-9000))
        let expired = refusal("default", PushedCredential(old))
        #expect(expired == .expired(ago: .seconds(5400)))
        #expect(expired.map { "\($0)" }?.contains("1 h 30 min ago") == true)
        let late = PushedCredential(
            Samples.supplied(lasting: .seconds(60)),
            activation: Samples.now + .seconds(60)
        )
        #expect(refusal("default", late) == .expiresBeforeActivation)
        let good = PushedCredential(Samples.supplied())
        #expect(refusal("defualt", good) == .unknownName("defualt", known: ["default", "pushed"]))
        let broken = Credential(accessKeyID: "a", secret: Secret("canary\n"))
        let unsendable = refusal("default", PushedCredential(Samples.supplied(broken)))
        #expect(unsendable.map { "\($0)" }?.contains("line break") == true)
        #expect(unsendable.map { "\($0)" }?.contains("canary") == false)
        #expect(keeper.credential(named: "default") == Samples.key)
    }

    @Test("The body of a rotation is read strictly")
    func body() throws {
        func pushed(_ text: String) throws(PushRefusal) -> PushedCredential {
            try PushedCredential(json: Array(text.utf8), origin: "a test", now: Samples.now)
        }
        let read = try pushed(
            #"{"Credentials":{\#(Samples.members())},"Activation":"2025-01-14T09:00:00Z"}"#
        )
        #expect(read.supplied.credential == Samples.issued())
        #expect(read.supplied.expiration == Samples.now + .seconds(3600))
        #expect(read.activation == Samples.now + .seconds(1800))
        let cases: [(String, PushRefusal)] = [
            ("", .unreadable), ("[]", .unreadable),
            ("{}", .incomplete(["AccessKeyId", "AccessKeySecret"])),
            (#"{"AccessKeyId":"a"}"#, .incomplete(["AccessKeySecret"])),
            (
                #"{"AccessKeyId":"STS.a","AccessKeySecret":"b"}"#,
                .incomplete(["SecurityToken"])
            ),
            (#"{"AccessKeyId":5,"AccessKeySecret":"b"}"#, .unreadable),
            (
                #"{"AccessKeyId":"a","AccessKeySecret":"b","Colour":"red"}"#,
                .unknownMembers(["Colour"])
            ),
            (
                #"{"AccessKeyId":"a","AccessKeySecret":"b","access_key_id":"c"}"#,
                .doubledMembers(["access_key_id"])
            ),
            (
                #"{"AccessKeyId":"a","AccessKeySecret":"b","Expiration":"soon"}"#,
                .notATime("Expiration")
            ),
        ]
        for (text, refusal) in cases {
            #expect(throws: refusal) { try pushed(text) }
            #expect(!"\(refusal)".isEmpty)
        }
    }

    @Test("What STS answers whole can be pushed")
    func wholeAnswer() throws {
        let read = try PushedCredential(
            json: Array(Samples.stsAnswer().utf8),
            origin: "a test",
            now: Samples.now
        )
        #expect(read.supplied.credential == Samples.issued())
    }

    @Test("A pushed credential that has expired is not used, nor is the source instead")
    func expires() throws {
        let keeper = try keeper()
        defer { keeper.stop() }
        try keeper.push("default", PushedCredential(Samples.supplied(lasting: .seconds(3600))))
        time.advance(.seconds(3000))
        #expect(keeper.status[0].state == .expiring)
        #expect(keeper.status[0].secondsLeft == 600)
        time.advance(.seconds(600))
        #expect(keeper.credential(named: "default") == nil)
        #expect(keeper.status[0].state == .expired)
    }
}

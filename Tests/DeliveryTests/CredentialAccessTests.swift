import Crypto
import SLS
import System
import Testing

@testable import Delivery

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

import Crypto
import SLS
import System
import Testing

@testable import Delivery

@Suite struct CredentialAccessTests {
    let start = Moment(nanoseconds: 1)

    struct Look: Equatable {
        let credential: Credential?
        let change: CredentialAccess.Change

        init(_ credential: Credential?, _ change: CredentialAccess.Change) {
            self.credential = credential
            self.change = change
        }
    }

    func look(_ access: inout CredentialAccess, _ now: Moment, _ given: Credential?) -> Look {
        let (credential, change) = access.look(now, CredentialDoor { _ in given })
        return Look(credential, change)
    }

    @Test("A credential that is there from the start is worth no word")
    func present() {
        var access = CredentialAccess("default")
        #expect(access.isWaiting)
        #expect(look(&access, start, Samples.credential) == Look(Samples.credential, .first))
        #expect(!access.isWaiting)
        #expect(look(&access, start, Samples.credential) == Look(Samples.credential, .none))
    }

    @Test("A missing one is asked for with growing waits, told once, and told when it comes")
    func missing() {
        var access = CredentialAccess("default")
        let reason = "there is no credential of the name 'default'"
        #expect(look(&access, start, nil) == Look(nil, .lost(reason: reason)))
        #expect(access.nextLook == start + .seconds(1))
        // Before its time nobody is asked.
        #expect(look(&access, start, Samples.credential) == Look(nil, .none))
        let second = start + .seconds(1)
        #expect(look(&access, second, nil) == Look(nil, .none))
        #expect(access.nextLook == second + .seconds(2))
        let third = start + .seconds(3)
        #expect(look(&access, third, Samples.credential) == Look(Samples.credential, .found))
    }

    @Test("A rotation is looked at without waiting")
    func lookNow() {
        var access = CredentialAccess("default")
        _ = look(&access, start, nil)
        access.lookNow()
        #expect(look(&access, start, Samples.credential) == Look(Samples.credential, .found))
    }

    @Test("A credential that cannot be sent is as good as none, and says why")
    func unusable() {
        var access = CredentialAccess("default")
        let broken = Credential(accessKeyID: "id", secret: Secret("s\n"))
        let seen = look(&access, start, broken)
        #expect(seen.credential == nil)
        guard case .lost(let reason) = seen.change else {
            Issue.record("not told")
            return
        }
        #expect(reason.contains("the access key secret"))
    }
}

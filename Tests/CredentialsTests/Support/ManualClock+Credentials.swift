import System
import TestSupport

@testable import Credentials

extension ManualClock {
    var clock: CredentialClock {
        CredentialClock(now: { self.now }, moment: { self.moment }) { wake, time in
            self.sleep(wake, until: time)
        }
    }
}

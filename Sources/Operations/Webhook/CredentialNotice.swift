import Credentials
import JSON
import System

/// What is told of a credential that is not well, or is again. It holds nothing that signs.
struct CredentialNotice: Sendable, Equatable {
    enum Event: String, Sendable, CaseIterable {
        case expiring, expired, refused
        /// There is none, and its source has failed again and again.
        case missing
        /// After one of these.
        case recovered
    }

    /// The same in every attempt to tell it.
    let id: String
    let event: Event
    let status: CredentialStatus
    let time: WallTime

    init(_ event: Event, _ status: CredentialStatus, at time: WallTime) {
        id = hex(randomBytes(16))
        self.event = event
        self.status = status
        self.time = time
    }

    /// What is posted.
    func json(host: String) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("id", id)
            json.member("event", "credential.\(event.rawValue)")
            json.member("time", time.rfc3339)
            json.member("host", host)
            json.member("credential", status.name)
            json.member("source", status.source)
            json.member("state", status.state.rawValue)
            json.member("fingerprint", status.fingerprint)
            json.member("expires_at", status.expiration?.rfc3339)
            json.member("seconds_left", status.secondsLeft.map { Int($0) })
            json.member("problem", status.lastProblem?.description)
            json.member("remedy", event == .recovered ? nil : status.remedy)
        }
        return json.text
    }
}

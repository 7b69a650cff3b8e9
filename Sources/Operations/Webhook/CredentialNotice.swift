import Credentials
import JSON
import System

/// A notice about a credential that has a problem or has recovered. It holds nothing secret.
struct CredentialNotice: Sendable, Equatable {
    enum Event: String, Sendable, CaseIterable {
        case expiring, expired, refused
        /// There is no credential, and its source has failed repeatedly.
        case missing
        /// The credential works again.
        case recovered
    }

    /// The same in every attempt to deliver the notice.
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

    /// The body of the POST.
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

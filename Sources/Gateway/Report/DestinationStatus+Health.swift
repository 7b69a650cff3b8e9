import Delivery
import System

extension DestinationStatus {
    /// What keeps logs from arriving there; nil while all is well, and before the first attempt.
    var trouble: String? {
        switch state {
        case .waitingForCredential(let reason), .paused(let reason, _): return reason
        case .running, .stopped: break
        }
        guard let lastFailure, lastSuccess.map({ $0 < lastFailure.at }) ?? true else { return nil }
        return "\(lastFailure.summary); \(lastFailure.remedy)"
    }

    var stateName: String {
        switch state {
        case .waitingForCredential: "waiting_for_credential"
        case .paused: "paused"
        case .running, .stopped: trouble == nil ? "fine" : "failing"
        }
    }
}

import Delivery
import System

extension DestinationStatus {
    /// What keeps logs from arriving there; nil while all is well, and before the first attempt.
    var trouble: String? {
        if case .waitingForCredential(let reason) = state { return reason }
        guard let lastFailure, lastSuccess.map({ $0 < lastFailure.at }) ?? true else { return nil }
        return "\(lastFailure.summary); \(lastFailure.remedy)"
    }

    var stateName: String {
        if case .waitingForCredential = state { return "waiting_for_credential" }
        return trouble == nil ? "fine" : "failing"
    }
}

extension DeliveryFailure {
    /// "403 WriteQuotaExceed: Project write quota exceed: qps"
    var summary: String {
        let start = [status.map { "\($0)" }, code].compactMap(\.self).joined(separator: " ")
        return start.isEmpty ? message : "\(start): \(message)"
    }
}

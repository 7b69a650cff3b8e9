package import Delivery
package import System

/// Why nothing is sent at present, and when the next probe is sent; nil while a probe is in flight.
package struct Standstill: Equatable {
    let reason: String
    package let until: WallTime?
}

extension DestinationStatus {
    /// The fewest consecutive failures that are more than bad luck or a quota used to its limit.
    private static let failuresMin = 3

    /// Why logs do not arrive at the destination; nil while all is well, and before the first
    /// attempt.
    package var trouble: String? {
        if case .waitingForCredential(let reason) = state { return reason }
        if state == .held { return "paused by an operator; resume it with: sluice resume \(name)" }
        if let standstill { return standstill.reason }
        if let clockTrouble { return clockTrouble }
        guard failuresInARow >= Self.failuresMin, let lastFailure else { return nil }
        return "\(lastFailure.summary); \(lastFailure.remedy)"
    }

    /// A destination stands still when all of its logstores do.
    package var standstill: Standstill? {
        switch state {
        case .paused(let reason, let until): return Standstill(reason: reason, until: until)
        case .waitingForCredential, .held, .stopped: return nil
        case .running: break
        }
        let standstills = outlets.map(\.standstill)
        guard !standstills.contains(nil) else { return nil }
        return standstills.compactMap(\.self).min {
            $0.until ?? .distantPast < $1.until ?? .distantPast
        }
    }

    package var stateName: String {
        switch state {
        case .waitingForCredential: "waiting_for_credential"
        case .held: "held"
        case .stopped: "stopped"
        case .running, .paused:
            standstill != nil ? "paused" : trouble == nil ? "fine" : "failing"
        }
    }

    package static let stateNames = [
        "fine", "failing", "paused", "held", "waiting_for_credential", "stopped",
    ]
}

extension OutletStatus {
    package var standstill: Standstill? {
        guard case .paused(let reason, let until) = state else { return nil }
        return Standstill(reason: reason, until: until)
    }

    /// Why logs do not arrive at the logstore; nil when something was stored after the last
    /// failure.
    package var trouble: String? {
        if let standstill { return standstill.reason }
        guard let lastFailure, lastSuccess.map({ $0 < lastFailure.at }) ?? true else { return nil }
        return "\(lastFailure.summary); \(lastFailure.remedy)"
    }

    package var stateName: String {
        standstill != nil ? "paused" : trouble == nil ? "fine" : "failing"
    }

    package static let stateNames = ["fine", "failing", "paused"]
}

extension WallTime {
    fileprivate static let distantPast = WallTime(nanoseconds: .min)
}

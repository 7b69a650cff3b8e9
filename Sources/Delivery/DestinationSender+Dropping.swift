import Queue
import SLS
import System

/// What `drop_unauthorized` does, as the SDKs' `DropUnauthorizedLog`.
extension DestinationSender {
    /// Rights are denied to the credential that is in use. The second time the packet goes; in between it
    /// waits for the gate that the refusal has closed. No longer than for a first probe, though: the
    /// backlog that is to be dropped would outgrow the queue.
    func denied(_ original: Lease, _ load: Load, _ judgement: Judgement, _ now: Moment) {
        var lease = original
        let isConfirmed = lease.refused == load.credential
        lease.refused = load.credential
        let wait =
            isConfirmed ? .zero : settings.probeWaits.wait(after: 1, random: .random(in: 0...1))
        if judgement.scope == .project { project.hastenProbe(to: now + wait) }
        load.outlet.gate.hastenProbe(to: now + wait)
        if isConfirmed {
            discard(lease, of: load.outlet, DeathReason(judgement))
        } else {
            load.outlet.leases.failed(lease)
        }
    }
}

extension Judgement {
    /// Whether SLS knows who asks and denies it to him, or what is written to is not there. Whose token has
    /// expired is denied nothing: another token is what is missing.
    var deniesRights: Bool {
        guard result == .sendUnauthorized else { return false }
        let words = message.lowercased()
        return !(code?.contains("TokenExpired") ?? false) && code != "SecurityToken.Expired"
            && !(words.contains("token") && words.contains("expired"))
    }
}

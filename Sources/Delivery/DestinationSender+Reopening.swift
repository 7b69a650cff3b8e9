import System

/// What is paused is tried at once when something has changed that may help.
extension DestinationSender {
    /// A credential was changed: what was refused with the old one is worth a request at once.
    func credentialsChanged() {
        access.lookNow()
        agenda.note(self)
        let now = Moment.now
        if pause?.mayEndWithCredential == true { project.reopen(now) }
        reopen(now, where: \.mayEndWithCredential)
    }

    /// An operator has looked at it: whatever is paused is worth a request at once, and what is refused for what is
    /// in it is taken apart again.
    func tryAgain() {
        let now = Moment.now
        // Gates that others share open, too.
        agenda.noteEveryone()
        project.reopen(now)
        quota.gate.reopen(now)
        for endpoint in endpoints.endpoints { endpoint.gate.reopen(now) }
        for outlet in outlets.values where outlet.gate.probing != nil {
            outlet.evidence.forget()
        }
        reopen(now) { _ in true }
    }

    /// Lets those outlets try at once that are paused for such a reason.
    func reopen(_ now: Moment, where isOver: (Pause) -> Bool) {
        for outlet in outlets.values {
            guard outlet.gate.probing != nil, let pause = outlet.pause, isOver(pause) else {
                continue
            }
            outlet.gate.reopen(now)
            turns.rouse(outlet)
            touch(outlet)
        }
    }
}

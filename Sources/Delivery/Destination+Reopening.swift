import System

/// What is paused is tried at once when something has changed that may help.
extension Destination {
    /// A credential was changed: what was refused with the old one is worth a request at once.
    func credentialsChanged() {
        access.lookNow()
        let now = Moment.now
        if pause?.mayEndWithCredential == true { project.reopen(now) }
        reopen(now, where: \.mayEndWithCredential)
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

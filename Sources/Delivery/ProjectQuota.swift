import SLS
import System

/// What a project's quota lets through, for all destinations that write to the project: the refusal that
/// one of them gets slows all of them down, and none has to find the rate for itself.
///
/// Only quotas move its gate. A refused credential is a matter of the destination that has it.
final class ProjectQuota {
    /// A project is the same by whatever endpoint of its region it is reached.
    struct Key: Hashable {
        /// The region where it is known, else the first endpoint.
        let place: String
        let project: String

        init(_ settings: DestinationSettings) {
            let region = settings.region ?? settings.endpoints.compactMap(\.region).first
            // What stands on this machine is no region of SLS, whatever it is called.
            let place = settings.endpoint.isLoopback ? nil : region
            self.place = place ?? settings.endpoint.description
            project = settings.project
        }
    }

    let key: Key
    var gate: Gate
    let waiters = GateWaiters()
    /// Why SLS asks to be left alone.
    var pause: Pause?
    /// Destinations that write to the project.
    private(set) var users = 0
    private var places = 0

    /// The waits are those of the first destination that writes to the project.
    init(_ key: Key, waits: Backoff) {
        self.key = key
        gate = Gate(Gate.Bounds(most: 1, waits))
    }

    /// One more destination, with so many places in flight, which are what bounds it.
    func join(places: Int) {
        users += 1
        self.places += places
        gate.widen(to: self.places)
    }

    func leave(places: Int) {
        users -= 1
        self.places -= places
        gate.widen(to: max(1, self.places))
    }
}

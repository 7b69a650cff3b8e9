import SLS
import System

/// The gate of a project's quota, shared by all destinations that write to the project: a refusal
/// that one of them gets slows all of them down, and none has to find the rate for itself.
///
/// Only quotas move its gate. A refused credential is a matter of the destination that has it.
final class ProjectQuota: SharedGate {
    /// A project is the same by whatever endpoint of its region it is reached.
    struct Key: Hashable {
        /// The region where it is known, else the first endpoint.
        let place: String
        let project: String
    }

    let key: Key

    init(_ key: Key, waits: Backoff) {
        self.key = key
        super.init(waits: waits)
    }
}

/// The quotas of all projects that are written to: destinations of one project share one.
final class ProjectQuotas {
    private var byKey: [ProjectQuota.Key: ProjectQuota] = [:]

    var count: Int { byKey.count }

    /// For one more destination with so many places.
    func quota(for settings: DestinationSettings, places: Int) -> ProjectQuota {
        let key = settings.quota
        let quota = byKey[key] ?? ProjectQuota(key, waits: settings.probeWaits)
        byKey[key] = quota
        quota.join(places: places)
        return quota
    }

    /// A destination writes to another project from now on. What is in flight keeps its quota until
    /// it ends.
    func release(_ quota: ProjectQuota, places: Int) {
        quota.leave(places: places)
        if quota.users == 0 { byKey[quota.key] = nil }
    }
}

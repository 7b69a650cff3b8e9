/// The quotas of all projects that are written to: destinations of one project share one.
final class ProjectQuotas {
    private var byKey: [ProjectQuota.Key: ProjectQuota] = [:]

    var count: Int { byKey.count }

    /// For one more destination with so many places.
    func quota(for settings: DestinationSettings, places: Int) -> ProjectQuota {
        let key = ProjectQuota.Key(settings)
        let quota = byKey[key] ?? ProjectQuota(key, waits: settings.probeWaits)
        byKey[key] = quota
        quota.join(places: places)
        return quota
    }

    /// A destination writes to another project from now on. What is in flight keeps its quota until it
    /// ends.
    func release(_ quota: ProjectQuota, places: Int) {
        quota.leave(places: places)
        if quota.users == 0 { byKey[quota.key] = nil }
    }
}

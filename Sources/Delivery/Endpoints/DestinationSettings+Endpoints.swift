import SLS

// Where a destination is reached, in words that hold for each kind.
extension DestinationSettings {
    /// The first is used while it answers, else the next (see `EndpointChoice`).
    var endpoints: [EndpointKey] {
        switch target {
        case .sls(let target): target.endpoints.map { .server($0, proxy: transport.proxy) }
        case .http(let target): [.server(target.place, proxy: transport.proxy)]
        case .file(let target): [.here(target.path)]
        case .stdout: [.here("standard output")]
        }
    }

    /// Scheme, host and port of its requests, in the order of the endpoints.
    package var origins: [String] {
        switch target {
        case .sls(let target):
            target.endpoints.map {
                "\($0.scheme.rawValue)://\($0.authority(forProject: target.project))"
            }
        case .http(let target): [target.place.description]
        case .file, .stdout: []
        }
    }

    /// True when requests go to other endpoints, or by another way.
    func hasMoved(from old: DestinationSettings) -> Bool { endpoints != old.endpoints }

    /// Destinations that have it in common are slowed down together.
    var quota: ProjectQuota.Key {
        switch target {
        case .sls(let target): target.quota
        // Nobody knows what it shares with others. No project has such a name.
        case .http, .file, .stdout: ProjectQuota.Key(place: "destination", project: "/\(name)")
        }
    }
}

extension SLSTarget {
    fileprivate var quota: ProjectQuota.Key {
        let region = region ?? endpoints.compactMap(\.region).first
        // What stands on this machine is in no region of SLS, whatever its name.
        let place = endpoint.isLoopback ? nil : region
        return ProjectQuota.Key(place: place ?? endpoint.description, project: project)
    }
}

extension ReceivedRequest {
    /// The request's project: the first label of the host, or `x-log-project` from clients that
    /// connect to a numeric address.
    func project() throws(SLSRefusal) -> String {
        guard let host = self["host"], !host.isEmpty else {
            throw SLSRefusal(400, "MissingHost", "Host does not exist in http header.")
        }
        let project: String
        if let named = self["x-log-project"] {
            project = named
        } else if let label = Self.prefix(of: host) {
            project = label
        } else {
            throw SLSRefusal(
                400,
                "InvalidHost",
                "The host \(host) names no project: put it in front (project.\(host)), "
                    + "or send x-log-project."
            )
        }
        guard Name.isProject(project) else { throw Self.noSuchProject(project) }
        return project
    }

    static func noSuchProject(_ name: String) -> SLSRefusal {
        SLSRefusal(404, "ProjectNotExist", "The Project does not exist : \(name)")
    }

    /// The first label of a name with several labels; nil for an address.
    private static func prefix(of host: String) -> String? {
        guard !host.hasPrefix("[") else { return nil }
        let name = host.prefix { $0 != ":" }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, UInt(last) == nil else { return nil }
        return String(labels[0])
    }
}

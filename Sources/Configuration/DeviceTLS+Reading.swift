import Net

/// The group `tls` of the whole configuration.
extension DeviceTLS {
    private static let port: UInt16 = 8443

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(
        _ section: consuming Section,
        besides others: [(key: String, address: ListenAddress?)]
    ) -> DeviceTLS? {
        let report = section.report
        let place = section.place(of: "listen")
        let key = section.keyPath("listen")
        let isInFile = section.isInFile
        let isGiven = section.has("listen")
        let written = section.value("listen", .listenAddress)
        let listen =
            written
            ?? (report.inputs.isSandboxed
                ? ListenAddress(host: "127.0.0.1", port: port) : .everywhere(port: port))
        let settings = TLSSettings.read(section)
        guard isInFile else { return nil }
        for (otherKey, other) in others where written != nil || !isGiven {
            guard let other, listen.excludes(other) else { continue }
            report.add(place, key: key, listen.takesPort(of: otherKey, other))
        }
        return settings.map { DeviceTLS(listen: listen, settings: $0) }
    }
}

import Net

/// The group `tls` of the whole configuration.
extension DeviceTLS {
    private static let port: UInt16 = 8443

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(
        _ section: consuming Section,
        besides others: KeyValuePairs<String, ListenAddress>
    ) -> DeviceTLS? {
        let report = section.report
        let place = section.place(of: "listen")
        let key = section.keyPath("listen")
        let isInFile = section.isInFile
        let listen =
            section.value("listen", .listenAddress)
            ?? ListenAddress(
                host: report.inputs.isSandboxed ? "127.0.0.1" : "0.0.0.0",
                port: port
            )
        let settings = TLSSettings.read(section)
        guard isInFile else { return nil }
        for (otherKey, other) in others where listen.excludes(other) {
            report.add(place, key: key, listen.takesPort(of: otherKey, other))
        }
        return settings.map { DeviceTLS(listen: listen, settings: $0) }
    }
}

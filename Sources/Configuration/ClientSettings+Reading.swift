import Net

extension AdminSettings.ClientSettings {
    private static let authoritiesSource = Override(
        option: "--admin-ca",
        variable: "SLUICE_ADMIN_CA"
    )
    private static let certificateSource = Override(
        option: "--admin-cert",
        variable: "SLUICE_ADMIN_CERT"
    )
    private static let keySource = Override(option: "--admin-key", variable: "SLUICE_ADMIN_KEY")

    /// The files are the business of whoever runs the command; a gateway does not look for them.
    static func read(_ section: consuming Section) -> AdminSettings.ClientSettings {
        var settings = AdminSettings.ClientSettings()
        settings.authorities = section.value("ca", .path, authoritiesSource)
        let chain = section.value("certificate", .path, certificateSource)
        let key = section.value("key", .path, keySource)
        if let chain {
            // One file may hold both.
            settings.certificate = .init(chainFile: chain, keyFile: key ?? chain)
        } else if let place = section.origin(of: "key", keySource),
            section.origin(of: "certificate", certificateSource) == nil
        {
            section.report.add(
                place,
                key: section.keyPath("key"),
                "there is no certificate for it; give that too (admin.client.certificate, "
                    + "--admin-cert or SLUICE_ADMIN_CERT)"
            )
        }
        section.refuseOthers()
        return settings
    }
}

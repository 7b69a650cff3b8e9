import Net

/// The group `tls` of a listener.
extension TLSSettings {
    private static let certificatesMax = 16

    private enum Wish { case none, optional, required }

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(_ section: consuming Section) -> TLSSettings? {
        guard section.isInFile else { return nil }
        let report = section.report
        var check = TLSFileCheck(place: section.ownPlace, key: section.path)
        let certificates = readCertificates(&section, &check)
        let authorities = section.value("client_ca", .path)
        if let authorities { check.note(authorities, "client_ca", of: section) }
        let wish = section.value(
            "client_certificates",
            .choice(["none": Wish.none, "optional": .optional, "required": .required])
        )
        let version = section.value(
            "minimum_version",
            .choice(["1.2": Version.tls12, "1.3": .tls13])
        )
        if wish == .optional || wish == .required, !section.has("client_ca") {
            section.problem(
                "client_certificates",
                "wants client_ca, a file with the authority that signs clients' certificates"
            )
        }
        section.refuseOthers()
        guard !certificates.isEmpty else { return nil }
        var settings = TLSSettings(certificates: certificates, minimumVersion: version ?? .tls12)
        if let authorities {
            switch wish ?? .required {
            case .none: settings.clientCertificates = .none
            case .optional: settings.clientCertificates = .optional(authorities: authorities)
            case .required: settings.clientCertificates = .required(authorities: authorities)
            }
        }
        if report.inputs.readsCertificates { check.run(settings, report) }
        return settings
    }

    private static func readCertificates(
        _ section: inout Section,
        _ check: inout TLSFileCheck
    ) -> [Certificate] {
        let areSeveral = section.has("certificates")
        let isOne = section.has("certificate") || section.has("key")
        if areSeveral, isOne {
            section.problem(
                "certificates",
                "there is \(section.has("certificate") ? "certificate" : "key") too; put all of "
                    + "them into the list, the first for clients that ask for no name"
            )
        }
        let one = readPair(&section, &check, isWanted: isOne || !areSeveral)
        var all = one.map { [$0] } ?? []
        section.groups("certificates", max: certificatesMax) { item in
            var item = item
            let pair = readPair(&item, &check, isWanted: true)
            if let pair, all.contains(where: { $0.chainFile == pair.chainFile }) {
                item.problem("certificate", "\(pair.chainFile) is in the list already")
            }
            if let pair { all.append(pair) }
            item.refuseOthers()
        }
        return all
    }

    private static func readPair(
        _ section: inout Section,
        _ check: inout TLSFileCheck,
        isWanted: Bool
    ) -> Certificate? {
        let chain = section.value("certificate", .path)
        let key = section.value("key", .path)
        if isWanted, !section.has("certificate") {
            section.problem(
                "certificate",
                "is missing; name the file with the certificate and those between it and its "
                    + "authority (PEM)"
            )
        }
        if isWanted, !section.has("key") {
            section.problem("key", "is missing; name the file with the certificate's key (PEM)")
        }
        if let chain { check.note(chain, "certificate", of: section) }
        if let key { check.note(key, "key", of: section) }
        guard let chain, let key else { return nil }
        return Certificate(chainFile: chain, keyFile: key)
    }
}

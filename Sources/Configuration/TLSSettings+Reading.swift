import Net

/// The group `tls` of a listener.
extension TLSSettings {
    private static let certificatesMax = 16
    private static let revocationFilesMax = 16
    private static let deniedMax = 1000
    /// Each is compared with all names of a client.
    private static let deniedPatternsMax = 64

    private enum Wish { case none, optional, required }

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(_ section: consuming Section) -> TLSSettings? {
        guard section.isInFile else { return nil }
        let report = section.report
        var check = TLSFileCheck(place: section.ownPlace, key: section.path)
        let certificates = readCertificates(&section, &check)
        let authorities = section.value("client_ca", .path)
        if let authorities { check.note(authorities, .authorities, "client_ca", of: section) }
        let revocations = section.list("client_crl", .path, counts: 1...revocationFilesMax)
        for file in section.readableItems("client_crl", .path) {
            check.note(file, .revocations, "client_crl", of: section)
        }
        let denied = section.list("deny", .certificatePattern, counts: 1...deniedMax) ?? []
        for key in ["client_crl", "deny"] where section.has(key) && !section.has("client_ca") {
            section.problem(
                key,
                "wants client_ca, a file with the authority that signs clients' certificates"
            )
        }
        if section.readableItems("deny", .certificatePattern).count(where: { $0.only == nil })
            > deniedPatternsMax
        {
            section.problem("deny", "has more than \(deniedPatternsMax) names with a *")
        }
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
        // Also the files of pairs that are not whole.
        if report.inputs.readsCertificates {
            check.run(certificates, version ?? .tls12, report)
        }
        guard !certificates.isEmpty else { return nil }
        var settings = TLSSettings(certificates: certificates, minimumVersion: version ?? .tls12)
        settings.revocationFiles = revocations ?? []
        settings.denied = denied
        if let authorities {
            switch wish ?? .required {
            case .none: settings.clientCertificates = .none
            case .optional: settings.clientCertificates = .optional(authorities: authorities)
            case .required: settings.clientCertificates = .required(authorities: authorities)
            }
        }
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
        if let chain { check.note(chain, .certificate, "certificate", of: section) }
        if let key { check.note(key, .key, "key", of: section) }
        guard let chain, let key else { return nil }
        return Certificate(chainFile: chain, keyFile: key)
    }
}

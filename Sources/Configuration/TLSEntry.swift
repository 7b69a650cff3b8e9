package import Net

/// The group `tls` of a listener as the file has it.
struct TLSEntry: SettingGroup {
    private static let certificatesMax = 16
    private static let revocationFilesMax = 16
    private static let deniedMax = 1000
    /// Each is compared with all names of a client.
    private static let deniedPatternsMax = 64

    private enum Wish: String, CaseIterable { case none, optional, required }

    private var pair = TLSSettings.Certificate()
    private var listed: [TLSSettings.Certificate] = []
    private var authorities: String?
    private var wish: Wish?
    private var revocationFiles: [String] = []
    private var denied: [CertificatePattern] = []
    private var minimumVersion = TLSSettings.Version.tls12
    private var files = TLSFileCheck()

    static var settings: [Setting<TLSEntry>] {
        TLSSettings.Certificate.settings.map { $0.lifted(\.pair) }
        Setting("certificates", .list(of: TLSSettings.Certificate.self)) {
            "in their place, up to 16 for different names: `[{ certificate: a.pem, key: a.key }, "
            "…]`; a client gets the one made for the name that it asks for, or else the first"
        } read: { section, entry in
            entry.readList(&section)
            return section.has("certificates")
        }
        Setting("client_ca", \.authorities, .path) {
            "the authority that signs certificates of clients"
        }
        Setting("client_crl", \.revocationFiles, listOf: .path, 1...revocationFilesMax) {
            "up to 16 files with revocation lists (CRL, PEM) of the authorities that sign clients' "
            "certificates; see below"
        }
        Setting("deny", \.denied, listOf: .certificatePattern, 1...deniedMax) {
            "names of certificates whose clients are refused, written as `certificate` of "
            #"[keys](access.md#keys): `["dns:phone-17.example.com", "dns:lost-*.example.com"]`; "#
            "`cn:` names a certificate that has no alternative names; 1,000 at most, 64 of them "
            "with a `*`"
        }
        Setting("client_certificates", \.wish, .word) {
            "`required`, `optional` (a wrong one is refused, none is fine), or `none`"
        }
        .default("with `client_ca` required")
        Setting("minimum_version", \.minimumVersion, .choice(["1.2": .tls12, "1.3": .tls13])) {
            "`1.2` or `1.3`"
        }
        .default("TLS 1.2")
    }

    private mutating func readList(_ section: inout Section) {
        var all: [TLSSettings.Certificate] = []
        var check = files
        section.groups("certificates", max: Self.certificatesMax) { item in
            var item = item
            var pair = TLSSettings.Certificate()
            pair.readSettings(&item)
            pair.check(item, &check, isWanted: true)
            if pair.isWhole {
                if all.contains(where: { $0.chainFile == pair.chainFile }) {
                    item.problem("certificate", "\(pair.chainFile) is in the list already")
                }
                all.append(pair)
            }
            item.refuseOthers()
        }
        listed = all
        files = check
    }

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(_ section: consuming Section) -> TLSSettings? {
        guard section.isInFile else { return nil }
        var entry = TLSEntry()
        entry.readSettings(&section)
        let settings = entry.complete(section)
        section.refuseOthers()
        return settings
    }

    /// Reports what does not go together or stands in files that cannot be used.
    mutating func complete(_ section: borrowing Section) -> TLSSettings? {
        checkCertificates(section)
        if let authorities { files.note(authorities, .authorities, "client_ca", of: section) }
        for file in section.readableItems("client_crl", .path) {
            files.note(file, .revocations, "client_crl", of: section)
        }
        for key in ["client_crl", "deny"] where section.has(key) && !section.has("client_ca") {
            section.problem(key) {
                "wants client_ca, a file with the authority that signs clients' certificates"
            }
        }
        let patterns = section.readableItems("deny", .certificatePattern).count { $0.only == nil }
        if patterns > Self.deniedPatternsMax {
            section.problem("deny", "has more than \(Self.deniedPatternsMax) names with a *")
        }
        if wish == .optional || wish == .required, !section.has("client_ca") {
            section.problem("client_certificates") {
                "wants client_ca, a file with the authority that signs clients' certificates"
            }
        }
        let certificates = (pair.isWhole ? [pair] : []) + listed
        // Also the files of pairs that are not whole.
        if section.report.inputs.readsCertificates {
            files.run(certificates, minimumVersion, of: section)
        }
        guard !certificates.isEmpty else { return nil }
        var settings = TLSSettings(certificates: certificates, minimumVersion: minimumVersion)
        settings.revocationFiles = revocationFiles
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

    private mutating func checkCertificates(_ section: borrowing Section) {
        let areSeveral = section.has("certificates")
        let isOne = section.has("certificate") || section.has("key")
        section.problem("certificates", if: areSeveral && isOne) {
            "there is \(section.has("certificate") ? "certificate" : "key") too; put all of them "
            "into the list, the first for clients that ask for no name"
        }
        pair.check(section, &files, isWanted: isOne || !areSeveral)
    }
}

extension TLSSettings.Certificate: SettingGroup {
    init() { self.init(chainFile: "", keyFile: "") }

    static var settings: [Setting<TLSSettings.Certificate>] {
        Setting("certificate", \.chainFile, .path) {
            "the certificate with those between it and its authority"
        }
        .default("required")
        Setting("key", \.keyFile, .path) { "its key" }
            .default("required")
    }

    /// Both files are named.
    fileprivate var isWhole: Bool { !chainFile.isEmpty && !keyFile.isEmpty }

    fileprivate func check(
        _ section: borrowing Section,
        _ files: inout TLSFileCheck,
        isWanted: Bool
    ) {
        section.problem("certificate", if: isWanted && !section.has("certificate")) {
            "is missing; name the file with the certificate and those between it and its authority "
            "(PEM)"
        }
        if isWanted, !section.has("key") {
            section.problem("key", "is missing; name the file with the certificate's key (PEM)")
        }
        if !chainFile.isEmpty { files.note(chainFile, .certificate, "certificate", of: section) }
        if !keyFile.isEmpty { files.note(keyFile, .key, "key", of: section) }
    }
}

/// A second listener for devices, which speaks TLS.
package struct DeviceTLS: Sendable, Equatable {
    /// What it is called in reports and in the journal.
    package static let listener = "devices-tls"

    package var listen: ListenAddress
    package var settings: TLSSettings

    package init(listen: ListenAddress, settings: TLSSettings) {
        self.listen = listen
        self.settings = settings
    }
}

/// The group `tls` of the whole configuration.
struct DeviceTLSEntry: SettingGroup {
    static let port: UInt16 = 8443

    private var listen: ListenAddress?
    private var tls = TLSEntry()

    static var settings: [Setting<DeviceTLSEntry>] {
        listenSetting
        TLSEntry.settings.map { $0.lifted(\.tls) }
    }

    static var listenSetting: Setting<DeviceTLSEntry> {
        Setting("listen", \.listen, .listenAddress) { "where devices post over TLS" }
            .default("port 8443 of every address, with `--sandbox` of `127.0.0.1`")
    }

    static func defaultListen(isSandboxed: Bool) -> ListenAddress {
        isSandboxed ? ListenAddress(host: "127.0.0.1", port: port) : .everywhere(port: port)
    }

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(_ section: consuming Section) -> DeviceTLS? {
        guard section.isInFile else { return nil }
        var entry = DeviceTLSEntry()
        entry.readSettings(&section)
        let settings = entry.tls.complete(section)
        let usual = defaultListen(isSandboxed: section.report.inputs.isSandboxed)
        section.refuseOthers()
        return settings.map { DeviceTLS(listen: entry.listen ?? usual, settings: $0) }
    }
}

/// Checks the files of TLS settings, so that mistakes are found at once, with their key.
struct TLSFileCheck {
    enum Role { case certificate, key, authorities, revocations }

    private struct Origin {
        let file: String
        let role: Role
        let place: ConfigurationProblem.Place
        let key: String
    }

    private var origins: [Origin] = []

    /// Remembers where a file is named, and what for.
    mutating func note(_ file: String, _ role: Role, _ key: String, of section: borrowing Section) {
        guard !origins.contains(where: { $0.file == file && $0.role == role }) else { return }
        origins.append(
            Origin(file: file, role: role, place: section.place(of: key), key: section.keyPath(key))
        )
    }

    /// Checks each file, then each pair of sound files, to report everything at once.
    func run(
        _ pairs: [TLSSettings.Certificate],
        _ version: TLSSettings.Version,
        of section: borrowing Section
    ) {
        let report = section.report
        var unsound: Set<String> = []
        for origin in origins {
            do throws(TLSError) {
                switch origin.role {
                case .certificate, .authorities: try TLSContext.check(certificates: origin.file)
                case .key: try TLSContext.check(key: origin.file)
                case .revocations: try TLSContext.check(revocationLists: origin.file)
                }
            } catch {
                unsound.insert(origin.file)
                report.add(origin.place, key: origin.key, error.description)
            }
        }
        for pair in pairs where !unsound.contains(pair.chainFile) && !unsound.contains(pair.keyFile)
        {
            do throws(TLSError) {
                _ = try TLSContext(TLSSettings(certificates: [pair], minimumVersion: version))
            } catch {
                let origin = error.file.flatMap { file in
                    origins.first { $0.file == file && [.certificate, .key].contains($0.role) }
                }
                report.add(
                    origin?.place ?? section.ownPlace,
                    key: origin?.key ?? section.path,
                    error.description
                )
            }
        }
    }
}

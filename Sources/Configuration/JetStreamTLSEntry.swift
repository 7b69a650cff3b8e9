import Net

/// The group `queue.jetstream.tls` as the file has it.
struct JetStreamTLSEntry: SettingGroup, Equatable, Sendable {
    private var authorities: String?
    private var chain: String?
    private var key: String?

    static var settings: [Setting<JetStreamTLSEntry>] {
        Setting("ca_file", \.authorities, .path, default: "the system's", reload: .atRestart) {
            """
            authorities that may have signed the brokers' certificates. A group `tls`, even an empty \
            one (`{}`), makes all connections use TLS
            """
        }
        Setting("certificate", \.chain, .path, reload: .atRestart) {
            "the client certificate to show, with those between it and its authority"
        }
        Setting("key", \.key, .path, reload: .atRestart) { "its key" }
    }

    /// nil without the group.
    static func read(_ given: consuming Section) -> JetStreamTLSEntry? {
        guard given.isInFile else { return nil }
        var section = given
        var entry = JetStreamTLSEntry()
        entry.readSettings(&section)
        section.refuseEmpty()
        if section.has("certificate") {
            section.require("key", "name the file with the certificate's key (PEM)")
        }
        if section.has("key") {
            section.require("certificate", "name the file with the certificate of the key (PEM)")
        }
        entry.checkFiles(section)
        section.refuseOthers()
        return entry
    }

    private func checkFiles(_ section: borrowing Section) {
        guard section.report.inputs.readsCertificates else { return }
        var files = TLSFileCheck()
        if let authorities { files.note(authorities, .authorities, "ca_file", of: section) }
        if let chain { files.note(chain, .certificate, "certificate", of: section) }
        if let key { files.note(key, .key, "key", of: section) }
        files.run(settings.certificate.map { [$0] } ?? [], .tls12, of: section)
    }

    var settings: OutboundTLS {
        var settings = OutboundTLS(authorities: authorities)
        if let chain, let key { settings.certificate = .init(chainFile: chain, keyFile: key) }
        return settings
    }

    var value: SettingValue {
        self == JetStreamTLSEntry() ? .text("{}") : .present(shown)
    }
}

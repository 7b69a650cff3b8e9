import Glibc
package import Net

/// Certificates and keys in files of their own, made once by the `openssl` command.
package final class TestCertificates: Sendable {
    package static let shared = TestCertificates()

    struct Unmade: Error {}

    package let directory: String

    private init() {
        var template = Array("/tmp/sluice-tls-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("no temporary directory") }
        directory = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        atexit { TestCertificates.shared.remove() }
        make("authority", "/CN=authority")
        make("stranger", "/CN=stranger")
        make("server", "/CN=ignored", names: "DNS:localhost,IP:127.0.0.1", by: "authority")
        make("wildcard", "/CN=x", names: "DNS:*.example.com", by: "authority")
        make("exact", "/CN=x", names: "DNS:api.example.com", by: "authority")
        make("client", "/CN=x", names: "DNS:phone-7.example.com,DNS:other", by: "authority")
        make("plain-client", "/O=Sluice/CN=phone 8", by: "authority")
        make("wrong-client", "/CN=phone 7", by: "stranger")
    }

    package func certificate(_ name: String) -> String { "\(directory)/\(name).pem" }
    package func key(_ name: String) -> String { "\(directory)/\(name).key" }

    package func files(_ name: String) -> TLSSettings.Certificate {
        TLSSettings.Certificate(chainFile: certificate(name), keyFile: key(name))
    }

    /// A file of the directory with this content.
    package func file(_ name: String, _ content: String) -> String {
        let path = "\(directory)/\(name)"
        let file = fopen(path, "w")
        fputs(content, file)
        fclose(file)
        return path
    }

    /// With `names` as the alternative names, signed by `authority` or by itself.
    package func make(
        _ name: String,
        _ subject: String,
        names: String? = nil,
        by authority: String? = nil
    ) {
        var arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", subject, "-keyout", key(name), "-out", certificate(name),
        ]
        if let names { arguments += ["-addext", "subjectAltName=\(names)"] }
        if let authority {
            arguments += ["-CA", certificate(authority), "-CAkey", key(authority)]
        }
        openssl(arguments)
    }

    package func openssl(_ arguments: [String]) {
        guard let process = try? ChildProcess(["openssl"] + arguments), process.wait() == 0
        else { fatalError("openssl \(arguments.joined(separator: " ")) failed") }
    }

    private func remove() {
        guard let listing = opendir(directory) else { return }
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink("\(directory)/\(name)")
        }
        closedir(listing)
        rmdir(directory)
    }
}

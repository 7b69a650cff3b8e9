package import Crypto
import Glibc
package import Net
import SLS
import System

/// Where the admin listener of a gateway is, how it is spoken to, and its token: found with the same file, options
/// and variables that the gateway was started with, or with a URL where it is elsewhere.
package struct AdminAccess: Sendable {
    /// A numeric address, or the name that a URL gave.
    package let address: ListenAddress
    /// Nil when none was found: what is open to everybody answers all the same.
    package let token: Secret?
    /// Nil speaks plain HTTP.
    package let tls: AdminTLS?

    package init(address: ListenAddress, token: Secret?, tls: AdminTLS? = nil) {
        self.address = address
        self.token = token
        self.tls = tls
    }

    /// Reads only what concerns the admin listener; whatever else the file says may be wrong.
    package static func find(
        _ described: ConfigurationInputs
    ) throws(ConfigurationProblems) -> AdminAccess {
        var inputs = described
        inputs.readsCertificates = false
        let url = try AdminURL.take(from: &inputs)
        let report = ProblemReport(inputs)
        let document = report.document()
        guard report.problems.isEmpty else { throw report.sorted }
        var file = Section(document, path: "", report: report)
        let settings = AdminSettings.read(file.section("admin"))
        let directory = file.value("data_dir", .path, GatewayConfiguration.dataDirectorySource)
        guard report.problems.isEmpty else { throw report.sorted }
        // What the gateway of this machine made for itself is for nobody elsewhere.
        let isHere = url?.isHere ?? true
        let token = settings.token ?? (isHere ? keptToken(directory) : nil)
        if let url, url.isPlain, !isHere, token != nil { throw url.inTheOpen }
        return AdminAccess(
            address: url?.address ?? settings.listen.reachable,
            token: token,
            tls: url?.isPlain == true ? nil : AdminTLS(settings, isURL: url != nil)
        )
    }

    /// The token that the gateway made for itself, when the caller may read it.
    private static func keptToken(_ directory: String?) -> Secret? {
        let directories = directory.map { [$0] } ?? GatewayConfiguration.usualDataDirectories
        for directory in directories {
            guard let content = try? fileContent("\(directory)/admin-token", bytesMax: 4096) else {
                continue
            }
            let text = String(decoding: content, as: UTF8.self)
            if let word = text.split(whereSeparator: \.isWhitespace).first {
                return Secret(String(word))
            }
        }
        return nil
    }
}

package import Configuration
import Credentials
import Crypto
import Delivery
package import Net
import SLS
import Sandbox
package import System

/// A sandbox in the same process, in place of SLS.
package final class SandboxPartner: Sendable {
    /// `sluice rotate` without a name replaces it.
    private static let credentialName = "default"
    private static let issuedDays: Int64 = 30

    private let server: SandboxServer
    private let key: Credential
    /// The sandbox accepts it, too: the key of a first rotation.
    private let issued: Credential

    package init(_ journal: Journal) throws(StartProblem) {
        key = Credential(
            accessKeyID: "sandbox-" + hex(randomBytes(6)),
            secret: Secret(hex(randomBytes(16)))
        )
        issued = Credential(
            accessKeyID: "STS.sandbox-" + hex(randomBytes(6)),
            secret: Secret(hex(randomBytes(16))),
            securityToken: Secret(hex(randomBytes(32)))
        )
        do {
            server = try SandboxServer(
                SandboxConfiguration(
                    listen: ListenAddress(host: "127.0.0.1", port: 0),
                    keys: [key, issued]
                ),
                journal: journal
            )
        } catch {
            throw StartProblem("the sandbox cannot start: \(error)")
        }
    }

    package var address: ListenAddress { server.address }

    package func stop() {
        server.stop()
    }

    /// Where `issueKey` puts the key of a first rotation.
    package static func issuedFile(in directory: String) -> String {
        "\(directory)/sandbox-sts.json"
    }

    /// Writes a key that the sandbox accepts into a file that only its owner can read, in the form
    /// of STS's answers.
    package func issueKey(into directory: String) throws(SystemError) {
        let expiration = WallTime(seconds: WallTime.now.seconds + Self.issuedDays * 86_400)
        let answer = """
            {"AccessKeyId":"\(issued.accessKeyID)","AccessKeySecret":"\(issued.secret.revealed)",
             "SecurityToken":"\(issued.securityToken?.revealed ?? "")",
             "Expiration":"\(expiration.rfc3339)"}

            """
        try replaceFile(Self.issuedFile(in: directory), with: Array(answer.utf8))
    }

    /// The configuration with every destination pointing here. Projects, logstores and the rest
    /// stay.
    package func redirected(_ configuration: GatewayConfiguration) -> GatewayConfiguration {
        var redirected = configuration
        redirected.credentials[Self.credentialName] = .fixed(key)
        for index in redirected.destinations.indices {
            if redirected.destinations[index].kind == .http {
                // The sandbox takes its logs, too: nothing leaves this machine.
                redirected.destinations[index].kind = .sls
                redirected.destinations[index].transfer.compression = nil
                redirected.destinations[index].project = "sandbox"
            }
            guard redirected.destinations[index].kind == .sls else { continue }
            let region = redirected.destinations[index].region
            // A host name leaves room for the project in front of it; curl resolves all such names
            // to loopback by itself.
            if let endpoint = try? Endpoint(parsing: "http://localhost:\(address.port)") {
                redirected.destinations[index].region =
                    region ?? "sandbox"
                redirected.destinations[index].endpoints = [endpoint]
            }
            redirected.destinations[index].transfer.transport.proxy = nil
            redirected.destinations[index].credential = Self.credentialName
        }
        return redirected
    }

    /// The first steps, for a newcomer.
    func welcome(_ gateway: Gateway, hasIssuedKey: Bool) -> String {
        let configuration = gateway.configuration.withLock { $0 }
        let devices = gateway.deviceAddress.reachable
        let destination = configuration.defaultDestination
        let logstore =
            switch destination.logstore {
            case .named(let name): name
            case .any: "hello"
            }
        let token = gateway.tokenFile.map { "$(cat \($0))" } ?? "$SLUICE_ADMIN_TOKEN"
        let admin = gateway.adminAddress.reachable
        // curl only needs to trust this certificate.
        let trust = configuration.admin.tls?.certificates.first?.chainFile
        let status =
            trust.map { "--cacert \($0) https://\(admin)" } ?? "http://\(admin)"
        let scheme = trust == nil ? "http" : "https"
        let rotation =
            hasIssuedKey
            ? "sluice rotate --file \(Self.issuedFile(in: configuration.dataDirectory))"
            : "needs a file of the sandbox's second key, which could not be written"
        return """

            Sluice \(Version.current) with a sandbox in place of SLS: nothing leaves this machine.

              Send a log        curl -d '{"level":"info","msg":"hello"}' http://\(devices)/logs/hello
              See it arrive     curl 'http://\(address)/logs?logstore=\(logstore)'
              or in a browser   http://\(address)/
              Rotate its key    \(rotation)
              How it is doing   curl -H "Authorization: Bearer \(token)" \(status)/admin/status
              The console       \(scheme)://\(admin)/console/   (its token: \(token))

              Other ways in     POST http://\(devices)/logs/{tag}                     JSON: one log, an array, or a log a line
                                POST http://\(devices)/logstores/{logstore}/track     SLS web tracking
                                POST http://\(devices)/logstores/{logstore}/shards/lb SLS PutLogs: any of its SDKs
              The queue is in   \(configuration.dataDirectory)
              Stop              Ctrl-C

            """
    }
}

package import Configuration
import Credentials
import Crypto
import Delivery
package import Net
import SLS
import Sandbox
package import System

/// `sluice sandbox`: the sandbox alone, for other programs.
package struct SandboxService: Sendable {
    private let inputs: ConfigurationInputs
    private let storage: String?
    private let hasResolvers: Bool

    package init(_ inputs: ConfigurationInputs, storage: String?, hasResolvers: Bool) {
        self.inputs = inputs
        self.storage = storage
        self.hasResolvers = hasResolvers
    }

    package func run() -> CInt {
        Signals.prepare()
        let address: ListenAddress
        do throws(ListenAddressError) {
            address = try ListenAddress(parsing: inputs.options["--listen"] ?? "127.0.0.1:8082")
        } catch {
            Terminal.complain("sluice sandbox: --listen: \(error)")
            return ExitCode.wrong
        }
        let (key, isGiven) = self.key
        let journal = Journal()
        defer { journal.flush() }
        do {
            let wakeUp = try WakeUp()
            try Signals.listen { signal in if signal == .stop { wakeUp.signal() } }
            var configuration = SandboxConfiguration(
                listen: address,
                keys: [key],
                storage: storage
            )
            configuration.resolver = hasResolvers ? accounts(address) : nil
            let server = try SandboxServer(configuration, journal: journal)
            Terminal.say(
                configuration.resolver.map {
                    resolverWelcome(server.address, $0, key, isGiven: isGiven)
                } ?? welcome(server.address, key, isGiven: isGiven)
            )
            wakeUp.wait()
            server.stop()
            return ExitCode.fine
        } catch {
            Terminal.complain("sluice sandbox: \(error)")
            return ExitCode.failed
        }
    }

    /// Every host has the sandbox's own address.
    private func accounts(_ listen: ListenAddress) -> ResolverAccounts {
        var accounts = ResolverAccounts()
        if let address = IPAddress(listen.reachable.host) { accounts.address = address }
        return accounts
    }

    private var key: (Credential, isGiven: Bool) {
        let id = inputs.environment["ALIBABA_CLOUD_ACCESS_KEY_ID"] ?? ""
        let secret = inputs.environment["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] ?? ""
        if !id.isEmpty, !secret.isEmpty {
            return (Credential(accessKeyID: id, secret: Secret(secret)), true)
        }
        return (.made(), false)
    }

    private func resolverWelcome(
        _ address: ListenAddress,
        _ accounts: ResolverAccounts,
        _ key: Credential,
        isGiven: Bool
    ) -> String {
        let place = ListenAddress(host: "\(accounts.address)", port: address.port)
        return """

            A sandbox that is SLS and its resolvers in one. Settings for sluice.yaml:

            resolvers:
              ali: { kind: alibaba, account: "\(accounts.alibaba)", secret: "\(accounts.secret.revealed)",
                     aes_key: "\(accounts.aesKey.revealed)", servers: ["http://\(place)"] }
              qq:  { kind: tencent, id: "\(accounts.tencent)", key: "\(accounts.tencentKey.revealed)",
                     servers: ["http://\(place)"] }
              doh: { kind: doh, url: "http://\(place)/dns-query" }
            destinations:
              app: { endpoint: "http://sluice-sandbox.example:\(address.port)", region: sandbox,
                     project: demo, logstore: "*", resolve: [ali, qq, doh] }

            With them, and in the same directory:

              \(keys(key, isGiven: isGiven))
              sluice serve --config sluice.yaml

              What each resolver says  sluice resolve demo.sluice-sandbox.example
              A resolver that lies     curl -d '{"resolver":"alibaba","addresses":["192.0.2.1"]}' http://\(place)/faults
              See what arrives         curl 'http://\(place)/logs'

            """
    }

    private func keys(_ key: Credential, isGiven: Bool) -> String {
        // A generated key opens nothing else; a given key is not shown.
        isGiven
            ? "with the keys that this sandbox was given"
            : """
            export ALIBABA_CLOUD_ACCESS_KEY_ID=\(key.accessKeyID)
              export ALIBABA_CLOUD_ACCESS_KEY_SECRET=\(key.secret.revealed)
            """
    }

    private func welcome(_ address: ListenAddress, _ key: Credential, isGiven: Bool) -> String {
        """

        A sandbox that takes every valid project and logstore. To send to it:

          export SLUICE_ENDPOINT=http://localhost:\(address.port) SLUICE_PROJECT=demo SLUICE_LOGSTORE='*'
          \(keys(key, isGiven: isGiven))
          sluice serve

          See what arrives  curl 'http://\(address)/logs?logstore=NAME'
          or in a browser   http://\(address)/

        """
    }
}

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
        key = .made()
        issued = .made("STS.", token: Secret(hex(randomBytes(32))))
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

    /// Writes a key that the sandbox accepts into a private file, in the form of STS's answers.
    package func issueKey(into directory: String) throws(SystemError) {
        let expiration = WallTime(seconds: WallTime.now.seconds + Self.issuedDays * 86_400)
        let answer = """
            {"AccessKeyId":"\(issued.accessKeyID)","AccessKeySecret":"\(issued.secret.revealed)",
             "SecurityToken":"\(issued.securityToken?.revealed ?? "")",
             "Expiration":"\(expiration.rfc3339)"}

            """
        try replaceFile(Self.issuedFile(in: directory), with: Array(answer.utf8))
    }

    /// The configuration with every destination pointing here; the rest stays.
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
            // The name leaves room for the project before it; curl resolves it to loopback itself.
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

extension Credential {
    /// A new one, which opens nothing but a sandbox.
    fileprivate static func made(_ start: String = "", token: Secret? = nil) -> Credential {
        Credential(
            accessKeyID: "\(start)sandbox-" + hex(randomBytes(6)),
            secret: Secret(hex(randomBytes(16))),
            securityToken: token
        )
    }
}

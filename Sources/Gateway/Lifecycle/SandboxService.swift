import Configuration
import Crypto
import Net
import SLS
import Sandbox
import System

/// `sluice sandbox`: the sandbox alone, for other programs.
package struct SandboxService: Sendable {
    private let listen: String
    private let storage: String?
    private let hasResolvers: Bool
    private let environment: [String: String]

    package init(
        listen: String?,
        storage: String?,
        hasResolvers: Bool,
        environment: [String: String]
    ) {
        self.listen = listen ?? "127.0.0.1:8082"
        self.storage = storage
        self.hasResolvers = hasResolvers
        self.environment = environment
    }

    package func run() -> CInt {
        Signals.prepare()
        let address: ListenAddress
        do throws(ListenAddressError) {
            address = try ListenAddress(parsing: listen)
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
                configuration.resolver.map { resolverWelcome(server.address, $0, key, isGiven) }
                    ?? welcome(server.address, key, isGiven: isGiven)
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
        let id = environment["ALIBABA_CLOUD_ACCESS_KEY_ID"] ?? ""
        let secret = environment["ALIBABA_CLOUD_ACCESS_KEY_SECRET"] ?? ""
        if !id.isEmpty, !secret.isEmpty {
            return (Credential(accessKeyID: id, secret: Secret(secret)), true)
        }
        return (
            Credential(
                accessKeyID: "sandbox-" + hex(randomBytes(6)),
                secret: Secret(hex(randomBytes(16)))
            ),
            false
        )
    }

    private func resolverWelcome(
        _ address: ListenAddress,
        _ accounts: ResolverAccounts,
        _ key: Credential,
        _ isGiven: Bool
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

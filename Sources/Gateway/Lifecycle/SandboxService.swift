import Crypto
import Net
import SLS
import Sandbox
import System

/// `sluice sandbox`: the sandbox alone, for other programs.
package struct SandboxService: Sendable {
    private let listen: String
    private let storage: String?
    private let environment: [String: String]

    package init(listen: String?, storage: String?, environment: [String: String]) {
        self.listen = listen ?? "127.0.0.1:8082"
        self.storage = storage
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
            let server = try SandboxServer(
                SandboxConfiguration(listen: address, keys: [key], storage: storage),
                journal: journal
            )
            Terminal.say(welcome(server.address, key, isGiven: isGiven))
            wakeUp.wait()
            server.stop()
            return ExitCode.fine
        } catch {
            Terminal.complain("sluice sandbox: \(error)")
            return ExitCode.failed
        }
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

    private func welcome(_ address: ListenAddress, _ key: Credential, isGiven: Bool) -> String {
        // A generated key opens nothing else; a given key is not shown.
        let keys =
            isGiven
            ? "with the keys that this sandbox was given"
            : """
            export ALIBABA_CLOUD_ACCESS_KEY_ID=\(key.accessKeyID)
              export ALIBABA_CLOUD_ACCESS_KEY_SECRET=\(key.secret.revealed)
            """
        return """

            A sandbox that takes every valid project and logstore. To send to it:

              export SLUICE_ENDPOINT=http://localhost:\(address.port) SLUICE_PROJECT=demo SLUICE_LOGSTORE='*'
              \(keys)
              sluice serve

              See what arrives  curl 'http://\(address)/logs?logstore=NAME'
              or in a browser   http://\(address)/

            """
    }
}

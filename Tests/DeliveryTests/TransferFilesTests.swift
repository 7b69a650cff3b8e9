import Glibc
import System
import TestSupport
import Testing

@testable import HTTPClient

@Suite(.timeLimit(.minutes(10))) struct TransferFilesTests {
    @Test(
        "A pipe in the place of a TLS file fails a transfer, with its name, and holds no thread",
        arguments: ["authorities", "certificate", "key"]
    )
    func pipe(role: String) throws {
        let directory = TemporaryDirectory()
        let pipe = "\(directory.path)/pipe"
        mkfifo(pipe, 0o600)
        let server = try ScriptedServer { _, _ in .stored }
        defer { server.stop() }
        var options = TransferOptions(connectTimeout: .seconds(20))
        switch role {
        case "authorities": options.trust = .authorities(file: pipe)
        case "certificate":
            options.clientCertificate = .init(chainFile: pipe, keyFile: "/dev/null")
        default:
            let certificate = TestCertificates.shared.certificate("client")
            options.clientCertificate = .init(chainFile: certificate, keyFile: pipe)
        }
        let transfer = Transfer(options)
        let url = "https://127.0.0.1:\(server.port)/"
        transfer.prepare(TransferRequest(url, keeping: ResponseUse(body: .none)))
        guard case .failed(let failure) = try TransferLoop(connections: 1).run(transfer) else {
            Issue.record("no failure")
            return
        }
        #expect(failure.detail.contains("\(pipe)/"), "\(failure.detail)")
    }
}

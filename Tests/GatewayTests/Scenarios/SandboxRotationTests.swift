import Credentials
import Foundation
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Gateway

/// The first rotation of a newcomer: the sandbox proves the key that it issued, and no other.
@Suite(.timeLimit(.minutes(1))) struct SandboxRotationTests {
    private static let path = "/admin/credentials/default"

    private let trial: SandboxedGateway

    init() throws { trial = try SandboxedGateway() }

    private func rotate(_ body: some Sequence<UInt8>) throws -> TestAnswer {
        try trial.admin.send(
            "PUT",
            Self.path,
            Array(body),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
    }

    private func issued() throws -> String {
        let directory = trial.directory.path
        try trial.sandbox.issueKey(into: directory)
        let file = SandboxPartner.issuedFile(in: directory)
        #expect(permissions(of: file) == 0o600)
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    private func permissions(of file: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return attributes?[.posixPermissions] as? Int
    }

    @Test("The sandbox proves the key that it issued, and the next packet is signed with it")
    func issuedKey() throws {
        let answer = try rotate(try issued().utf8)
        #expect(answer.status == 200, "\(answer.text)")
        let inUse = trial.gateway.keeper.credential(named: "default")
        #expect(inUse?.accessKeyID.hasPrefix("STS.sandbox-") == true)
        #expect(try trial.devices.post("/logs/after", #"{"a":1}"#.utf8).status == 200)
        #expect(trial.delivered(1))
    }

    @Test("The sandbox refuses another secret, and the key in use stays")
    func otherSecret() throws {
        let before = trial.gateway.keeper.credential(named: "default")?.accessKeyID
        let secret = #""AccessKeySecret":""#
        let wrong = try issued().replacing(secret, with: secret + "0")
        let answer = try rotate(wrong.utf8)
        #expect(answer.status == 422, "\(answer.text)")
        #expect(trial.gateway.keeper.credential(named: "default")?.accessKeyID == before)
    }
}

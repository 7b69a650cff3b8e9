import Foundation
import TestSupport
import Testing

/// An operator while devices send as fast as they can.
@Suite(.timeLimit(.minutes(1))) struct BusyGatewayTests {
    @Test("Under full load the admin API answers quickly, and the ledger stays balanced")
    func load() throws {
        let running = try RunningGateway("\nqueue: { max_bytes: 4MiB, min_free_bytes: 1MiB }\n")
        let end = running.operatorEnd
        let token = try String(
            contentsOfFile: running.scratch.path + "/data/admin-token",
            encoding: .utf8
        ).trimmingCharacters(in: .whitespacesAndNewlines)
        let posters = try Posters(count: 16)
        posters.post(to: running.listeners.devices)
        posters.waitForAnswers(500)

        let key = #"{"AccessKeyId":"test-id","AccessKeySecret":"test-secret"}"#
        var slowest = Duration.zero
        for round in 0..<10 {
            for (method, path, body) in [
                ("GET", "/admin/status", ""), ("GET", "/metrics", ""), ("GET", "/healthz", ""),
                ("POST", "/admin/destinations/app/pause", ""),
                ("PUT", "/admin/credentials/default", key),
                ("POST", "/admin/destinations/app/resume", ""),
            ] {
                let began = ContinuousClock.now
                let answer = (try? TestConnection(port: running.listeners.admin))?.request(
                    method,
                    path,
                    fields: ["Authorization: Bearer \(token)", "Content-Type: application/json"],
                    body: body
                )
                slowest = max(slowest, ContinuousClock.now - began)
                #expect(answer?.status == 200, "\(round) \(method) \(path): \(answer?.text ?? "")")
            }
        }
        // Far more than it takes, for machines with much else to do.
        #expect(slowest < .seconds(10).calibrated())
        posters.stop()
        let settled = try #require(try end.settled())
        #expect(settled.isClosed && settled.queued == 0, "\(settled)")
        #expect(settled.delivered == settled.accepted, "\(settled)")
    }
}

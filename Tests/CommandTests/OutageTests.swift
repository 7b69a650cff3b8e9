import Foundation
import TestSupport
import Testing

/// SLS is away: accepting goes on to the bound, and what was taken arrives when it is back.
@Suite(.timeLimit(.minutes(10)))
struct OutageTests {
    @Test("An outage fills the queue, then devices get 503; all logs arrive afterwards")
    func outage() throws {
        let scratch = TemporaryDirectory()
        let sandbox = try RunningSandbox()
        let configuration = sandbox.configuration(dataDirectory: "\(scratch.path)/data")
        let file = scratch.file("sluice.yaml", configuration + "\nqueue: { max_bytes: 1MiB }\n")
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let (gateway, listeners) = try Program.serving(file)
        let client = try TestConnection(port: listeners.devices)
        var answered: Set<String> = []
        var refusal: TestAnswer?
        while refusal == nil {
            let number = "\(answered.count)"
            // Noise, so that lz4 does not make it small.
            let noise = (0..<2000).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
            let body = #"{"number":"\#(number)","noise":"\#(noise.joined())"}"#
            let sent = client.request("POST", "/logs/outage", body: body)
            let answer = try #require(sent)
            if answer.status == 200 { answered.insert(number) } else { refusal = answer }
        }
        #expect(refusal?.status == 503)
        #expect(refusal?["retry-after"] != nil)
        let track = client.request(
            "POST",
            "/logstores/outage/track",
            body: #"{"__logs__":[{"a":"b"}]}"#
        )
        #expect(track?.status == 503)
        #expect(track?.text.contains("ServerBusy") == true)
        #expect(answered.count > 20)

        #expect(sandbox.control("DELETE", "/faults") == 200)
        let end = gateway.stopped()
        #expect(end.exitCode == 0)
        #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")
        let received = sandbox.received(field: "number")
        #expect(Set(received) == answered)
    }
}

/// A logstore with a quota, behind the whole gateway: nearly all of the quota is used, little is
/// wasted, and another logstore does not notice.
@Suite(.timeLimit(.minutes(10)))
struct QuotaTests {
    static let perSecond = 50
    static let packets = 300

    @Test("A quota is used fully without wasted requests, and delays no other logstore")
    func quota() throws {
        // On a machine that stands still for a second any sender wastes what a quota gives
        // meanwhile.
        var use = try run()
        for _ in 0..<2 where !use.isGood { use = try run() }
        #expect(use.used > 0.85)
        #expect(use.refused > 0 && use.refused < 0.10)
        #expect(use.idleWaited < .seconds(2).calibrated())
    }

    private struct Use {
        let used: Double
        let refused: Double
        let idleWaited: Duration

        var isGood: Bool {
            used > 0.85 && refused > 0 && refused < 0.10
                && idleWaited < .seconds(2).calibrated()
        }
    }

    private func run() throws -> Use {
        let scratch = TemporaryDirectory()
        let sandbox = try RunningSandbox()
        // Each request of a device becomes a packet.
        let configuration = sandbox.configuration(dataDirectory: "\(scratch.path)/data")
            .replacing("packet: { age: 50ms }", with: "packet: { age: 50ms, logs: 1 }")
        let file = scratch.file("sluice.yaml", configuration)
        let limit = #"{"logstore":"busy","requests_per_second":\#(Self.perSecond)}"#
        #expect(sandbox.control("POST", "/limits", limit) == 200)
        let (gateway, listeners) = try Program.serving(file)
        defer { withExtendedLifetime(gateway) {} }
        let end = OperatorEnd(listeners, dataDirectory: "\(scratch.path)/data")

        // All are there when the first is sent: a slow disk must not pass for a quota that is not
        // used.
        _ = try end.run("pause", "app")
        try post(Self.packets, to: "busy", listeners.devices)
        #expect(sandbox.received(field: "busy").isEmpty)
        _ = try end.run("resume", "app")
        let started = ContinuousClock.now
        try post(1, to: "idle", listeners.devices)
        #expect(wait(for: 1, in: "idle", sandbox))
        let idleWaited = ContinuousClock.now - started
        #expect(wait(for: Self.packets, in: "busy", sandbox))
        let elapsed = (ContinuousClock.now - started) / .seconds(1)

        // The quota has saved up one second's worth at first.
        let given = Double(Self.perSecond) * (elapsed + 1)
        let refused = Double(refusals(sandbox))
        #expect(Set(sandbox.received(field: "busy")).count == Self.packets)
        return Use(
            used: Double(Self.packets) / given,
            refused: refused / (Double(Self.packets) + refused),
            idleWaited: idleWaited
        )
    }

    private func post(_ count: Int, to logstore: String, _ port: UInt16) throws {
        let client = try TestConnection(port: port)
        for number in 0..<count {
            let body = #"{"\#(logstore)":"\#(number)"}"#
            let answer = client.request("POST", "/logs/\(logstore)", body: body)
            #expect(answer?.status == 200)
        }
    }

    /// Whether so many logs arrived within half a minute.
    private func wait(for count: Int, in logstore: String, _ sandbox: RunningSandbox) -> Bool {
        let answer = (try? TestConnection(port: sandbox.port))?
            .request("GET", "/logs?logstore=\(logstore)&min=\(count)&wait_s=19&limit=1000")
        return answer?.text.split(separator: "\n").count == count
    }

    private func refusals(_ sandbox: RunningSandbox) -> Int {
        let stats = (try? TestConnection(port: sandbox.port))?.request("GET", "/stats")?.text ?? ""
        let match = stats.firstMatch(of: /"ShardWriteQuotaExceed":([0-9]+)/)
        return match.flatMap { Int($0.1) } ?? 0
    }
}

/// An operator while devices send as fast as they can.
@Suite(.timeLimit(.minutes(10))) struct BusyGatewayTests {
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

import Foundation
import TestSupport
import Testing

/// A logstore with a quota, behind the whole gateway: nearly all of the quota is used, little is
/// wasted, and another logstore does not notice.
@Suite(.timeLimit(.minutes(2)))
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
        let gateway = try Program(["serve", "--config", file], environment: RunningSandbox.keys)
        let listeners = try #require(gateway.listeners(), "\(gateway.errors.lines)")
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
        guard let client = try? TestConnection(port: port) else {
            Issue.record("nobody listens on the announced port")
            return
        }
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

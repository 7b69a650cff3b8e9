import Foundation
import TestSupport
import Testing

/// SLS is away: accepting goes on to the bound, and what was taken arrives when it is back.
@Suite(.timeLimit(.minutes(2)))
struct OutageTests {
    @Test("An outage fills the queue, then devices get 503; all logs arrive afterwards")
    func outage() throws {
        let scratch = TemporaryDirectory()
        let sandbox = try RunningSandbox()
        let configuration = sandbox.configuration(dataDirectory: "\(scratch.path)/data")
        let file = scratch.file("sluice.yaml", configuration + "\nqueue: { max_bytes: 1MiB }\n")
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let gateway = try Program(["serve", "--config", file], environment: RunningSandbox.keys)
        let port = try #require(gateway.listeners(), "\(gateway.errors.lines)").devices

        var answered: Set<String> = []
        var refusal: TestAnswer?
        guard let client = try? TestConnection(port: port) else {
            Issue.record("nobody listens on the announced port")
            return
        }
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
        gateway.signal(SIGTERM)
        let end = gateway.finished()
        #expect(end.exitCode == 0)
        #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")
        let received = sandbox.received(field: "number")
        #expect(Set(received) == answered)
    }
}

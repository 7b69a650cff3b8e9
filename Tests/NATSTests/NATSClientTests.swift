import NATS
import System
import TestNATS
import TestSupport
import Testing

/// The client with a real server.
@Suite(.timeLimit(.minutes(2))) final class NATSClientTests {
    let recorder = JournalRecorder()
    let broker = Broker()

    var settings: NATSSettings { NATSSettings(servers: [broker.address], name: "test") }

    func client(_ settings: NATSSettings) throws -> NATSClient {
        let client = try NATSClient(settings, journal: recorder.journal)
        try client.waitUntilConnected(atMost: .seconds(20))
        return client
    }

    @Test("A request is answered, before and after a restart of the server")
    func requests() throws {
        try broker.start()
        let client = try client(settings)
        for _ in 0..<2 {
            let answer = try client.request("$JS.API.INFO", timeout: .seconds(5))
            #expect(String(decoding: answer.body, as: UTF8.self).contains("\"memory\""))
            broker.kill()
            #expect(throws: NATSError.self) {
                try client.request("$JS.API.INFO", timeout: .seconds(5))
            }
            try broker.start()
            try client.waitUntilConnected(atMost: .seconds(20))
        }
        // The first connection may need a retry too.
        let lost = recorder.count(of: "broker lost")
        #expect((2...3).contains(lost) && recorder.count(of: "broker reached") == lost)
    }
}

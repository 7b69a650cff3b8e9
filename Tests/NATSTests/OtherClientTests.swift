import NATS
import System
import TestNATS
import TestSupport
import Testing

/// Messages to and from another client of NATS (nats-py).
@Suite(.timeLimit(.minutes(2))) final class OtherClientTests {
    let recorder = JournalRecorder()
    let broker: Broker = {
        var options = Broker.Options()
        options.hasJetStream = false
        return Broker(options)
    }()

    /// Tells what it gets in hexadecimal, and answers.
    private static let script = """
        import asyncio, sys, nats

        async def main():
            client = await nats.connect(sys.argv[1])
            subscription = await client.subscribe("to.python")
            await client.flush()
            print("ready", flush=True)
            message = await subscription.next_msg(timeout=20)
            for name, value in message.headers.items():
                print(name, value, sep="=")
            print(message.data.hex())
            headers = {"X-Answer": "a: b", "Nats-Msg-Id": "7"}
            await client.publish(message.reply, bytes(range(256)), headers=headers)
            await client.publish(message.reply, b"plain")
            await client.close()

        asyncio.run(main())
        """

    @Test("Headers and bodies are the same for both clients")
    func both() throws {
        try broker.start()
        try #require(broker.waitUntilReady(), "\(broker.log)")
        let python = try ChildProcess(
            [Broker.python, "-c", Self.script, "\(broker.address)"],
            output: .pipe
        )
        let output = try #require(python.output)
        try #require(output.read(until: "ready\n") != nil)

        let settings = NATSSettings(servers: [broker.address], name: "test")
        let client = try NATSClient(settings, journal: recorder.journal)
        try client.waitUntilConnected(atMost: .seconds(20))
        let inbox = try client.inbox()
        let message = OutgoingMessage(
            to: "to.python",
            reply: inbox.subject,
            headers: [("Nats-Expected-Last-Sequence", "12"), ("X-Text", "a: b")],
            body: [0, 13, 10, 255]
        )
        try client.send(message, from: inbox)
        let (first, second) = (
            try inbox.next(until: .now + .seconds(20)), try inbox.next(until: .now + .seconds(20))
        )
        let head = String(decoding: first.head, as: UTF8.self)
        #expect(head == "NATS/1.0\r\nX-Answer: a: b\r\nNats-Msg-Id: 7\r\n\r\n")
        #expect(first.body == Array(0...255))
        #expect(second == NATSMessage(subject: inbox.subject, body: Array("plain".utf8)))
        #expect(
            output.readAll() == "Nats-Expected-Last-Sequence=12\nX-Text=a: b\n000d0aff\n"
        )
        #expect(python.wait() == 0)
    }
}

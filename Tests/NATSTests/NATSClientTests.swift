import Crypto
import Glibc
import System
import TestNATS
import TestSupport
import Testing

@testable import NATS

/// The client with real servers.
@Suite(.timeLimit(.minutes(10))) final class NATSClientTests {
    let recorder = JournalRecorder()
    /// Brokers end with the suite's value.
    var brokers: [Broker] = []

    func started(lines: String = "", hasJetStream: Bool = false) throws -> Broker {
        let broker = try Broker.started(lines, hasJetStream: hasJetStream)
        brokers.append(broker)
        return broker
    }

    func client(
        _ servers: Broker...,
        user: String? = nil,
        inbox: String = "_INBOX",
        silenceMax: Duration = .milliseconds(1500)
    ) throws -> NATSClient {
        var settings = NATSSettings(servers: servers.map(\.address), name: "test")
        if let user { settings.authentication = .user(user, password: .init(user)) }
        settings.silenceMax = silenceMax
        settings.inboxPrefix = inbox
        let client = try NATSClient(settings, journal: recorder.journal)
        try client.waitUntilConnected(atMost: .seconds(20))
        return client
    }

    func server(of client: NATSClient) -> UInt16? {
        guard case .connected(let address, _) = client.state else { return nil }
        return address.port
    }

    @Test("A request is answered, before and after a restart of the server")
    func requests() throws {
        let broker = try started(hasJetStream: true)
        let client = try client(broker)
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
        #expect(recorder.count(of: "broker lost") == 2)
        #expect(recorder.count(of: "broker reached") == 2)
    }

    @Test("A server is left for another one, and a lone one is kept")
    func changing() throws {
        let (one, two) = (try started(), try started())
        let client = try client(one, two)
        let first = server(of: client)
        client.changeServer()
        #expect(eventually { server(of: client).map { $0 != first } ?? false })
        try echo(client)
        let lone = try self.client(one)
        lone.changeServer()
        try echo(lone)
        #expect(server(of: lone) == one.port && recorder.count(of: "broker lost") == 1)
    }

    @Test("A request to a subject without listeners fails at once")
    func noResponders() throws {
        let client = try client(try started())
        let error = NATSError(.noResponders, "nothing listens to no.such.subject at this moment")
        #expect(throws: error) { try client.request("no.such.subject", timeout: .seconds(20)) }
    }

    @Test("Megabytes go both ways, in order")
    func volume() throws {
        let client = try client(try started())
        try echo(client)
    }

    @Test("A message that is larger than the server takes is refused, and others go on")
    func payload() throws {
        let broker = try started()
        let client = try client(broker)
        let error = NATSError(
            .refused,
            "the message has 1048577 bytes, and the server takes 1048576; raise its max_payload"
        )
        #expect(throws: error) {
            try client.request(
                "a",
                [UInt8](repeating: 0, count: 1 << 20 | 1),
                timeout: .seconds(20)
            )
        }
        #expect(throws: NATSError.self) {
            try client.request("a", [UInt8](repeating: 0, count: 1 << 20), timeout: .seconds(20))
        }
        #expect(recorder.count(of: "broker lost") == 0)
    }

    @Test("Two clients talk through inboxes, with headers")
    func headers() throws {
        let broker = try started()
        let (asking, answering) = (try client(broker), try client(broker))
        let service = try answering.inbox(subscribes: true)
        // The subscription is there when a later operation of the same connection is answered.
        _ = try? answering.request("nobody", timeout: .seconds(20))
        let question = try asking.inbox()
        let message = OutgoingMessage(
            to: service.subject,
            reply: question.subject,
            headers: [("Nats-Msg-Id", "1"), ("X-Text", "ü: x")],
            body: [0, 13, 10, 255]
        )
        try asking.send(message, from: question)
        let received = try service.next(until: .now + .seconds(20))
        let head = String(decoding: received.head, as: UTF8.self)
        #expect(head == "NATS/1.0\r\nNats-Msg-Id: 1\r\nX-Text: ü: x\r\n\r\n")
        #expect(received.body == [0, 13, 10, 255] && received.status == nil)
        let reply = try #require(received.reply)
        try answering.send(OutgoingMessage(to: reply, body: [1]), from: service)
        #expect(try question.next(until: .now + .seconds(20)).body == [1])
    }

    // MARK: - Permissions

    private static let users = """
        authorization {
            users: [
                { user: limited, password: limited, permissions: {
                    publish: { allow: ["allowed", "_INBOX.>"] }, subscribe: "_INBOX.>" } }
                { user: deaf, password: deaf, permissions: { subscribe: "other" } }
                { user: own, password: own, permissions: { subscribe: ["own.inbox.>", "asked"] } }
            ]
        }
        """

    @Test("A publication that the server denies fails its request, and others go on")
    func permissions() throws {
        let client = try client(try started(lines: Self.users), user: "limited")
        let waiting = try client.inbox()
        let error = NATSError(
            .refused,
            "the server refused it: Permissions Violation for Publish to \"denied\""
        )
        #expect(throws: error) { try client.request("denied", timeout: .seconds(20)) }
        #expect(throws: NATSError.self) { try client.request("allowed", timeout: .seconds(20)) }
        try client.send(OutgoingMessage(to: waiting.subject, body: [7]), from: waiting)
        #expect(try waiting.next(until: .now + .seconds(20)).body == [7])
        #expect(recorder.count(of: "broker lost") == 0)
    }

    @Test("Answers below an inbox prefix of its own are out of reach of users with _INBOX.>")
    func ownInbox() throws {
        let broker = try started(lines: Self.users)
        let other = try client(broker, user: "limited")
        let heard = try other.inbox(listeningTo: ["own.inbox.>"])
        #expect(throws: NATSError.self) { try heard.next(until: .now + .seconds(20)) }
        let client = try client(broker, user: "own", inbox: "own.inbox")
        let inbox = try client.inbox()
        #expect(inbox.subject.hasPrefix("own.inbox."))
        try client.send(OutgoingMessage(to: inbox.subject, body: [7]), from: inbox)
        #expect(try inbox.next(until: .now + .seconds(20)).body == [7])
    }

    @Test("A user that may not subscribe to inboxes is refused")
    func inboxPermission() throws {
        let broker = try started(lines: Self.users)
        let error = #expect(throws: NATSError.self) { try self.client(broker, user: "deaf") }
        #expect(error?.kind == .refused)
        let text =
            "the server refused the login: Permissions Violation for Subscription to \"_INBOX."
        #expect(error?.description.contains(text) == true, "\(error?.description ?? "")")
    }

    // MARK: - Several servers

    @Test("A server that hangs is given up, and another one is used")
    func hanging() throws {
        let (one, two) = (try started(), try started())
        let client = try client(one, two, silenceMax: .milliseconds(300))
        let (stopped, other) = server(of: client) == one.port ? (one, two) : (two, one)
        let inbox = try client.inbox()
        stopped.signal(SIGSTOP)
        let began = Moment.now
        try client.send(OutgoingMessage(to: "a", reply: inbox.subject), from: inbox)
        let error = #expect(throws: NATSError.self) { try inbox.next(until: .now + .seconds(20)) }
        #expect(error?.kind == .disconnected)
        let time = Moment.now - began
        #expect(time > .milliseconds(500) && time < .seconds(3).calibrated(), "\(time)")
        try client.waitUntilConnected(atMost: .seconds(20))
        #expect(server(of: client) == other.port)
    }

    @Test("A client moves when its server leaves; requests under way are answered")
    func leaving() throws {
        let cluster = try Brokers(2, lines: "ping_interval: \"1s\"")
        brokers = cluster.all
        for broker in brokers { try #require(broker.waitUntilReady()) }
        let answering = try client(brokers[1])
        let asking = try client(brokers[0])
        let service = try answering.inbox(subscribes: true)
        // The first server knows of the subscription, and its client of the other server.
        try #require(
            eventually {
                (try? asking.send(OutgoingMessage(to: service.subject), from: service)) != nil
                    && (try? service.next(until: .now + .milliseconds(50))) != nil
            }
        )
        try #require(
            eventually {
                guard case .connected(_, let info) = asking.state else { return false }
                return info.others.contains { $0.port == brokers[1].port }
            }
        )
        try leave(brokers[0], while: asking, waitsFor: service, answering)
        // By the one request that it waited for, and long before the server ends connections.
        #expect(eventually { server(of: asking) == brokers[1].port }, "\(recorder.text)")
        #expect(throws: NATSError.self) {
            try asking.request("no.such.subject", timeout: .seconds(20))
        }
        #expect(recorder.lines(containing: "the server is about to stop").count == 1)
    }

    private func leave(
        _ broker: Broker,
        while asking: NATSClient,
        waitsFor service: NATSInbox,
        _ answering: NATSClient
    ) throws {
        let inbox = try asking.inbox()
        let question = OutgoingMessage(to: service.subject, reply: inbox.subject, body: [1])
        try asking.send(question, from: inbox)
        var received = try service.next(until: .now + .seconds(20))
        while received.body.isEmpty { received = try service.next(until: .now + .seconds(20)) }
        broker.leave()
        try #require(
            eventually {
                guard case .connected(_, let info) = asking.state else { return false }
                return info.isLeaving
            }
        )
        let reply = try #require(received.reply)
        try answering.send(OutgoingMessage(to: reply, body: [2]), from: service)
        #expect(try inbox.next(until: .now + .seconds(20)).body == [2])
    }

    @Test("A name with several addresses is tried at each of them")
    func localhost() throws {
        let broker = try started()
        // IPv6 is tried first, where the system has it.
        let address = NATSServerAddress(host: "localhost", port: broker.port)
        let settings = NATSSettings(servers: [address], name: "test")
        let client = try NATSClient(settings, journal: recorder.journal)
        try client.waitUntilConnected(atMost: .seconds(20))
    }

    @Test("A server is reached over IPv6", .enabled(if: hasIPv6, "this machine has no IPv6"))
    func ipv6() throws {
        var options = Broker.Options()
        options.hasJetStream = false
        options.host = "[::1]"
        let broker = Broker(options)
        brokers.append(broker)
        try broker.start()
        let client = try client(broker)
        #expect(throws: NATSError.self) { try client.request("nobody", timeout: .seconds(20)) }
        #expect(broker.address.description == "nats://[::1]:\(broker.port)")
    }

    @Test("A name that does not exist is told")
    func noName() throws {
        let address = NATSServerAddress(host: "no-such-name.invalid", port: 4222)
        let settings = NATSSettings(servers: [address], name: "test")
        let client = try NATSClient(settings, journal: recorder.journal)
        let error = #expect(throws: NATSError.self) {
            while true { try client.waitUntilConnected(atMost: .milliseconds(100)) }
        }
        #expect(error?.kind == .disconnected)
        let isTold = eventually { recorder.text.contains("its name has no address") }
        #expect(isTold, "\(recorder.text)")
    }
}

/// Sends messages of a commit's size to an inbox, and reads them back.
func echo(_ client: NATSClient) throws {
    let inbox = try client.inbox()
    for round in 0..<3 {
        for number in 0..<20 {
            let body = [UInt8](repeating: UInt8(round * 20 + number), count: 900 << 10)
            try client.send(OutgoingMessage(to: inbox.subject, body: body), from: inbox)
        }
        for number in 0..<2000 {
            let body = Array("\(number)".utf8)
            try client.send(OutgoingMessage(to: inbox.subject, body: body), from: inbox)
        }
        for number in 0..<20 {
            let body = try inbox.next(until: .now + .seconds(20)).body
            #expect(body.count == 900 << 10 && body.last == UInt8(round * 20 + number))
        }
        for number in 0..<2000 {
            let body = try inbox.next(until: .now + .seconds(20)).body
            try #require(body == Array("\(number)".utf8))
        }
    }
}

private let hasIPv6: Bool = {
    let number = socket(AF_INET6, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(number, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
        }
    }
}()

/// Messages to and from another client of NATS (nats-py).
@Suite(.timeLimit(.minutes(10))) final class OtherClientTests {
    let recorder = JournalRecorder()

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
        let broker = try Broker.started()
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
        withExtendedLifetime(broker) {}
    }
}

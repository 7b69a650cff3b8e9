import CommitLog
import Glibc
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// What gateways tell each other.
@Suite(.timeLimit(.minutes(10))) final class FleetMessagesTests {
    private let trial = FleetTrial()

    deinit { trial.end() }

    private func identity(_ number: UInt8, _ receipt: String = "first") -> BatchIdentity {
        BatchIdentity(
            digest: Array(repeating: number, count: 16),
            receipt: Array(receipt.utf8),
            logs: 3
        )
    }

    @Test("A request that is repeated to another gateway gets the first answer, and is stored once")
    func repeats() throws {
        let (first, second) = (
            try trial.start(trial.machine("a")), try trial.start(trial.machine("b"))
        )
        #expect(first.store([1, 2, 3], identity: identity(1)) == .stored)
        #expect(eventually { second.status.fleet?.messages.knownRepeats == 1 })
        let answer = second.store([1, 2, 3], identity: identity(1, "second"))
        #expect(answer == .repeated(receipt: Array("first".utf8), logs: 3))
        #expect(second.status.ledger.accepted == 0)
        #expect(second.status.repeats.repeated == 1)
        #expect(second.status.fleet?.messages.recognisedRepeats == 1)
        // Others are as new as before.
        #expect(second.store([4], identity: identity(2)) == .stored)
        #expect(eventually { first.status.fleet?.messages.knownRepeats == 1 })
    }

    @Test("How far the logs go is told at once, also without requests that may be repeated")
    func lastEntries() throws {
        let (view, key) = (try trial.openView(), MessageSeal.newKey())
        let one = try messages(view.messenger(for: "a", .silent), "a", life: "1", key)
        let two = try messages(view.messenger(for: "b", .silent), "b", life: "2", key)
        defer { for messages in [one, two] { messages.stop() } }
        let end = SharedValue<UInt64>(5)
        one.tellEntries { ["a~1": end.now] }
        #expect(eventually { two.takeToldEntries() == ["a~1": 5] })
        end.change { $0 = 6 }
        one.tell(identity(1))
        #expect(eventually { two.takeToldEntries() == ["a~1": 6] })
        #expect(two.first(of: identity(1)) == identity(1))
        end.change { $0 = 7 }
        #expect(eventually { two.takeToldEntries() == ["a~1": 7] })
        #expect(one.takeToldEntries().isEmpty)
    }

    @Test("In a large fleet a gateway waits longer before it tells again, and leaves nothing out")
    func tellsLess() throws {
        let (messenger, key) = (RecordingMessenger(), MessageSeal.newKey())
        let messages = try messages(messenger, "a", life: "0a", key)
        defer { messages.stop() }
        messages.use(size: 1000)
        messages.tell(identity(1))
        #expect(messenger.senders.wait { $0.count == 1 })
        let told = Moment.now
        for number in 2...20 as ClosedRange<UInt8> { messages.tell(identity(number)) }
        #expect(messenger.senders.wait { $0.count > 1 })
        // Ten gateways wait for 10 ms.
        #expect(Moment.now - told > .milliseconds(900))
        #expect(messages.figures.untoldRepeats == 0)
    }

    @Test("What a gateway could not tell is counted, and its devices notice nothing")
    func untold() throws {
        let machine = trial.machine("a")
        let fleet = try trial.start(machine)
        fleet.messages.tell(identity(1))
        machine.view.isReachable = false
        fleet.messages.tell(identity(2))
        #expect(eventually { fleet.status.fleet?.messages.untoldRepeats ?? 0 >= 1 })
        #expect(fleet.status.fleet?.messages.problem != nil)
        machine.view.isReachable = true
        #expect(fleet.storeUntilTaken([1]))
        #expect(fleet.status.fleet?.messages.problem == nil)
    }

    @Test("Gateways answer each other's questions, and one that does not is missing")
    func questions() throws {
        let fleets = try ["a", "b", "c"].map { try trial.start(trial.machine($0)) }
        let large = [UInt8](repeating: 7, count: 100_000)
        fleets[1].messages.answerQuestions { question, answer in answer(question + large) }
        let asked = fleets[0].messages
        let answers = asked.ask(["b", "c", "missing"], [1, 2], atMost: .seconds(2))
        #expect(answers == ["b": [1, 2] + large])
        #expect(asked.ask([], [1], atMost: .seconds(2)) == [:])
        fleets[1].messages.answerQuestions { _, _ in }
        for _ in 0..<20 { #expect(asked.ask(["missing"], [1], atMost: .milliseconds(1)) == [:]) }
        // `ask` returns soon although one of the two gateways does not exist.
        let began = Moment.now
        fleets[1].messages.answerQuestions { question, answer in answer(question) }
        #expect(asked.ask(["b", "missing"], [3], atMost: .seconds(100)) == ["b": [3]])
        #expect(Moment.now - began < .seconds(20).calibrated())
    }

    @Test("A question ends soon if the other gateway has not started yet, or this one stops")
    func busy() throws {
        let (a, b) = (try trial.start(trial.machine("a")), try trial.start(trial.machine("b")))
        let began = Moment.now
        // It answers nothing yet.
        #expect(a.messages.ask(["b"], [1], atMost: .seconds(100)) == [:])
        let asked = Awaited<Bool>()
        b.messages.answerQuestions { _, _ in asked.put(true) }
        let answers = Awaited<[String: [UInt8]]>()
        let worker = try Worker("asking") {
            answers.put(a.messages.ask(["b"], [2], atMost: .seconds(100)))
        }
        #expect(asked.take(1) == [true])
        a.messages.stopAsking()
        #expect(answers.take(1) == [[:]])
        worker.join()
        #expect(Moment.now - began < .seconds(50).calibrated())
    }

    @Test("An answer is sent neither on the engine's thread nor on that of the answerer")
    func sendingThread() throws {
        let messenger = RecordingMessenger()
        let key = MessageSeal.newKey()
        let messages = try messages(messenger, "a", life: "0a", key)
        defer { messages.stop() }
        messages.answerQuestions { question, reply in reply(question) }
        let seal = try #require(MessageSeal(key, keyFingerprint: nil))
        let challenge = messages.state.withLock { $0.questions.challenge }
        for content in [FleetMessage.Content.call(1), .question(2, challenge: challenge, [7])] {
            let message = seal.seal(FleetMessage(life: "0b", node: "b", content), to: "a")
            for part in MessageParts.cut(message, to: 1024) { messenger.receive(part) }
        }
        #expect(messenger.senders.wait { $0.count == 2 })
        #expect(messenger.senders.now.allSatisfy { $0 != UInt(pthread_self()) })
    }

    private func messages(
        _ messenger: any ClusterMessenger,
        _ node: String,
        life: String,
        _ key: [UInt8]
    ) throws -> FleetMessages {
        let messages = try FleetMessages(
            messenger,
            node: node,
            life: life,
            keyFingerprint: nil,
            repeatsMax: 10,
            repeatsAgeMax: .seconds(100)
        )
        messages.use(key: key)
        messages.takeName()
        try messages.start()
        return messages
    }

    @Test(
        "A message that comes again, elsewhere, after a restart or back to its sender does nothing"
    )
    func bound() throws {
        let key = MessageSeal.newKey()
        let seal = try #require(MessageSeal(key, keyFingerprint: nil))
        let answered = SharedValue<[String]>([])
        let wires = (0..<4).map { _ in RecordingMessenger() }
        let names = [("a", "0a"), ("c", "0c"), ("a", "1a"), ("b", "0b")]
        let gateways = try zip(wires, names).map { wire, name in
            let gateway = try messages(wire, name.0, life: name.1, key)
            gateway.answerQuestions { _, _ in answered.change { $0.append(name.1) } }
            return gateway
        }
        defer { for gateway in gateways { gateway.stop() } }
        let challenge = gateways[0].state.withLock { $0.questions.challenge }
        let question = FleetMessage(life: "0b", node: "b", .question(7, challenge: challenge, [1]))
        let bytes = seal.seal(question, to: "a")
        for wire in [wires[0], wires[0]] + wires { wire.receive(whole: bytes) }
        #expect(answered.now == ["0a"])
        // Another question is answered, and one to all gateways is not.
        let next = FleetMessage(life: "0b", node: "b", .question(8, challenge: challenge, [1]))
        wires[0].receive(whole: seal.seal(next, to: nil))
        #expect(answered.now == ["0a"])
        wires[0].receive(whole: seal.seal(next, to: "a"))
        #expect(answered.now == ["0a", "0a"])
    }

    @Test("News of requests that comes late or again makes no request younger")
    func lateRepeats() throws {
        let key = MessageSeal.newKey()
        let seal = try #require(MessageSeal(key, keyFingerprint: nil))
        let wire = RecordingMessenger()
        let gateway = try messages(wire, "a", life: "0a", key)
        defer { gateway.stop() }
        for (number, seconds) in [(1, -101), (2, 101), (3, -60), (4, 60), (5, 0)] {
            let time = WallTime.now + .seconds(seconds)
            let content = FleetMessage.Content.repeats([identity(UInt8(number))], sentAt: time)
            let bytes = seal.seal(FleetMessage(life: "0b", node: "b", content), to: nil)
            for _ in 0..<20 { wire.receive(whole: bytes) }
        }
        let known = (1...5).map { gateway.first(of: identity(UInt8($0))) != nil }
        #expect(known == [false, false, true, true, true])
        #expect(gateway.figures.knownRepeats == 3)
        var repeats = ToldRepeats(atMost: 10, ageMax: .seconds(100))
        let now = Moment.now
        repeats.add(identity(1), toldAt: now)
        for _ in 0..<50 { repeats.add(identity(1), toldAt: now) }
        repeats.add(identity(2), toldAt: now + .seconds(-60))
        for age in [0, 39, 41, 99, 101] {
            let later = now + .seconds(age)
            #expect((repeats.first(of: identity(1).digest, later) != nil) == (age < 100))
            #expect((repeats.first(of: identity(2).digest, later) != nil) == (age < 40))
        }
    }

    @Test("Questions of former challenges are known as long as these count, and then refused")
    func periods() {
        var book = QuestionBook()
        book.answerer = { _, _ in }
        let first = book.challenge
        func isNew(_ id: UInt64, _ challenge: UInt64) -> Bool {
            guard case .answer = book.admit(id, challenge: challenge) else { return false }
            book.answered()
            return true
        }
        #expect(!isNew(1, first &+ 1))
        var id: UInt64 = 0
        var challenges = [first]
        var asked: [(id: UInt64, challenge: UInt64)] = []
        while challenges.count < 3, id < 20_000 {
            id += 1
            asked.append((id, challenges.last!))
            #expect(isNew(id, challenges.last!))
            if book.challenge != challenges.last { challenges.append(book.challenge) }
        }
        #expect(challenges.count == 3)
        #expect(asked.allSatisfy { !isNew($0.id, $0.challenge) })
        // Also not under the challenge that follows the one of the first time.
        let former = asked.filter { $0.challenge == challenges[1] }
        #expect(former.allSatisfy { !isNew($0.id, challenges[2]) })
        #expect(!isNew(id + 1, challenges[0]))
        #expect(isNew(id + 1, challenges[1]) && isNew(id + 2, challenges[2]))
    }

    @Test("Remembered requests are bounded in number and age")
    func bounds() {
        var repeats = ToldRepeats(atMost: 10, ageMax: .seconds(100))
        let now = Moment.now
        for number in 0..<25 { repeats.add(identity(UInt8(number), "r\(number)"), toldAt: now) }
        #expect(repeats.count == 10)
        for number in 0..<25 {
            let found = repeats.first(of: identity(UInt8(number)).digest, now)
            #expect(found == (number < 15 ? nil : identity(UInt8(number), "r\(number)")))
            #expect(repeats.first(of: identity(UInt8(number)).digest, now + .seconds(101)) == nil)
        }
        var none = ToldRepeats(atMost: 0, ageMax: .seconds(100))
        none.add(identity(1), toldAt: now)
        #expect(none.first(of: identity(1).digest, now) == nil)
        let long = String(repeating: "r", count: ToldRepeats.receiptBytesMax + 1)
        repeats.add(identity(99, long), toldAt: now)
        #expect(repeats.first(of: identity(99).digest, now) == nil)
    }

    @Test("Who does not know the key, or has another encryption key, is not understood")
    func seals() throws {
        let key = MessageSeal.newKey()
        let seal = try #require(MessageSeal(key, keyFingerprint: "1"))
        let same = try #require(MessageSeal(key, keyFingerprint: "1"))
        let foreign = try #require(MessageSeal(key, keyFingerprint: "2"))
        let stranger = try #require(MessageSeal(MessageSeal.newKey(), keyFingerprint: "1"))
        #expect(MessageSeal([1], keyFingerprint: nil) == nil)
        let question = FleetMessage(life: "0a", node: "a", .question(1, challenge: 3, [1, 2]))
        let call = FleetMessage(life: "0a", node: "a", .call(1))
        for message in [question, call] {
            let bytes = seal.seal(message, to: "b")
            #expect(same.open(bytes, at: "b") == message && stranger.open(bytes, at: "b") == nil)
            #expect(same.open(bytes, at: "a") == nil && same.open(bytes, at: "") == nil)
            #expect(foreign.open(bytes, at: "b") == (message == call ? call : nil))
            #expect(same.open(message.bytes, at: "b") == nil)
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] ^= 1
                #expect(same.open(damaged, at: "b") == nil)
                #expect(same.open(Array(bytes.prefix(index)), at: "b") == nil)
            }
        }
    }

    @Test("A question that is sent a second time is not answered again")
    func replayed() throws {
        let (a, b) = (try trial.start(trial.machine("a")), try trial.start(trial.machine("b")))
        let listener = try trial.openView()
        let wire = listener.messenger(for: "b", trial.recorder.journal)
        let heard = SharedValue<[[UInt8]]>([])
        try wire.listen { part in heard.change { $0.append(part) } }
        defer { wire.stop() }
        let answers = SharedValue(0)
        b.messages.answerQuestions { question, answer in
            answers.change { $0 += 1 }
            answer(question)
        }
        #expect(a.messages.ask(["b"], [7], atMost: .seconds(2)) == ["b": [7]])
        for part in heard.now { try wire.send([part], to: "b") }
        #expect(a.messages.ask(["b"], [8], atMost: .seconds(2)) == ["b": [8]])
        #expect(answers.now == 2)
    }

    @Test("A question that was refused is not answered when it comes again")
    func refusedThenRepeated() {
        var book = QuestionBook()
        book.answerer = { _, _ in }
        var (answered, refused): ([UInt64], UInt64) = ([], 0)
        while refused == 0, answered.count < 1000 {
            let id = UInt64(answered.count + 1)
            switch book.admit(id, challenge: book.challenge) {
            case .answer: answered.append(id)
            case .busy: refused = id
            case .ignored: Issue.record("question \(id) is new")
            }
        }
        #expect(refused > 1)
        for _ in answered { book.answered() }
        for id in answered + [refused] {
            guard case .ignored = book.admit(id, challenge: book.challenge) else {
                Issue.record("question \(id) came before")
                continue
            }
        }
        guard case .answer = book.admit(refused + 1, challenge: book.challenge) else {
            Issue.record("there is room again")
            return
        }
    }

    @Test("A question is not sent again to a gateway that has restarted meanwhile")
    func restarted() throws {
        var book = QuestionBook()
        let isAsked = book.ask(1, ["a", "b"], isCall: false, try WakeUp())
        #expect(isAsked)
        for (challenge, life, told) in [
            (5, "0a", ["a": 5]), (6, "0a", ["a": 6]), (7, "1a", [:]), (8, "0a", [:]),
        ] as [(UInt64, String, [String: UInt64])] {
            _ = book.hear(1, challenge, life: life, from: "a")
            let challenges = book.takeChallenges(1)
            #expect(challenges == told)
        }
        #expect(book.missing(1) == ["b"])
        let answers = book.end(1)
        #expect(answers.isEmpty)
    }

    @Test("Messages are read as they were written, and others are ignored")
    func codec() {
        let contents: [FleetMessage.Content] = [
            .repeats([], sentAt: WallTime(seconds: 1)),
            .repeats([identity(1), identity(2, "")], sentAt: WallTime(seconds: -1)),
            .repeats(
                [identity(1)],
                entries: ["a~1": 7, "b~2": .max],
                sentAt: WallTime(seconds: 2)
            ),
            .question(7, challenge: 8, []),
            .question(UInt64.max, challenge: UInt64.max, [1, 2, 3]),
            .answer(0, [9]), .call(1), .here(2, challenge: 4), .busy(3),
        ]
        for content in contents {
            let message = FleetMessage(life: "0a1b", node: "gw-1", content)
            #expect(FleetMessage(message.bytes) == message)
            for length in 0..<message.bytes.count {
                // A question that ends early is another question, and an older gateway tells no
                // entries; nothing else can be read.
                let part = FleetMessage(Array(message.bytes.prefix(length)))?.content
                guard case .repeats(let some, let entries, _) = part else { continue }
                guard case .repeats(some, _, _) = content else {
                    Issue.record("a part of a message was read")
                    continue
                }
                #expect(entries.isEmpty)
            }
            #expect(FleetMessage([1] + message.bytes.dropFirst()) == nil)
        }
        #expect(
            FleetMessage(
                FleetMessage(
                    life: "a",
                    node: "b",
                    .repeats([identity(1, "a\r\nb")], sentAt: .now)
                ).bytes
            ) == nil
        )
    }
}

/// Remembers the threads that send.
private final class RecordingMessenger: ClusterMessenger {
    let partBytesMax = 1024
    let problem: String? = nil
    let senders = SharedValue<[UInt]>([])
    private let receiver = SharedValue<(@Sendable ([UInt8]) -> Void)?>(nil)

    func listen(_ receiver: @escaping @Sendable ([UInt8]) -> Void) {
        self.receiver.change { $0 = receiver }
    }

    func receive(_ part: [UInt8]) { receiver.now?(part) }

    func receive(whole message: [UInt8]) {
        for part in MessageParts.cut(message, to: partBytesMax) { receive(part) }
    }

    func send(_ parts: [[UInt8]], to node: String?) {
        senders.change { $0.append(UInt(pthread_self())) }
    }

    func stop() {}
}

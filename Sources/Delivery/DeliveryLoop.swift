import Configuration
import HTTPClient
import Queue
import System

/// The delivery thread: hands packets to destinations, moves transfers on, and sleeps.
final class DeliveryLoop {
    enum Message: Sendable {
        case queue(DeliveryNews)
        case credentialsChanged
        /// Settings of running and of new destinations.
        case settings([DestinationRoster.Entry])
        /// The roster has destinations that leave.
        case removed
        case held(Set<String>)
        case tryAgain(Set<String>)
        case endRest(Set<String>)
        /// The addresses of a host have changed.
        case addressesChanged
        /// Shows that the thread takes its turns.
        case callback(@Sendable () -> Void)
        case stop(Moment)
    }

    private let loop: TransferLoop
    private let mailbox: Mailbox<Message>
    private let roster: DestinationRoster
    private let dependencies: DestinationSender.Dependencies
    private let shared: DeliveryThreadState
    private var byName: [String: DestinationSender] = [:]
    /// By the numbers of their agenda entries.
    private var byNumber: [Int: DestinationSender] = [:]
    /// The destinations that operators hold back, running or not.
    private var held: Set<String> = []
    private var someLeave = false
    private var stopping: Moment?
    /// The numbers of the destinations with work under way.
    private var working: Set<Int> = []
    /// Requests sent so far.
    private var sent = 0

    /// A bound for the sleep; everything that matters wakes earlier.
    private static let longestSleep: Duration = .seconds(60)

    init(
        _ loop: TransferLoop,
        _ mailbox: Mailbox<Message>,
        for roster: DestinationRoster,
        with dependencies: DestinationSender.Dependencies,
        memoryMax: Int
    ) {
        self.loop = loop
        self.mailbox = mailbox
        self.roster = roster
        self.dependencies = dependencies
        shared = DeliveryThreadState(memoryMax: memoryMax, BodyEncoders { loop.wake() })
        for entry in roster.entries { _ = add(entry) }
    }

    private var destinations: some Collection<DestinationSender> { byName.values }

    func run() {
        for destination in destinations { destination.carrier.begin(on: loop) }
        while true {
            takeMessages()
            if someLeave { letGo() }
            let now = Moment.now
            if let stopping {
                if now >= stopping || destinations.allSatisfy(\.isIdle) { break }
            } else {
                send(now)
            }
            // Ended transfers have freed places: there may be something to send.
            if loop.perform() + finishEnded() == 0 { loop.wait(sleep(from: now)) }
        }
        for destination in destinations { destination.abandon(loop) }
        shared.encoders.stop()
    }

    /// One request of each destination in turn, until none can send more. The one that has not sent
    /// for longest begins, so none is always the first to find a shared gate open.
    private func send(_ now: Moment) {
        for refusal in shared.refusals.takeAll() {
            for destination in destinations { destination.heed(refusal, now) }
        }
        shared.memory.beginTurn()
        let due = shared.agenda.take(now).compactMap { byNumber[$0.number] }
        guard !due.isEmpty else { return }
        for destination in due { destination.advance(now) }
        var line = due.filter { $0.outlets.hasTurns }
        if line.count > 1 { line.sort { $0.lastSent < $1.lastSent } }
        while !line.isEmpty {
            // What cannot send now cannot before something ends.
            line = line.filter { destination in
                guard destination.sendNext(now, loop) else { return false }
                sent += 1
                destination.lastSent = sent
                working.insert(destination.agendaEntry.number)
                return true
            }
        }
        for destination in due { destination.endTurn(now) }
    }

    /// Finishes work that ended on other threads; returns how much there was.
    private func finishEnded() -> Int {
        let encoded = shared.encoders.takeEncoded()
        for body in encoded {
            byNumber[body.destination]?.encoded(body.ticket, body.outcome, loop)
        }
        var ended = encoded.count
        for number in working {
            let destination = byNumber[number]
            ended += destination?.carrier.finishEnded() ?? 0
            if destination?.isIdle ?? true { working.remove(number) }
        }
        return ended
    }

    private func takeMessages() {
        var haveNewAddresses = false
        defer {
            if haveNewAddresses {
                for destination in destinations { destination.addressesChanged(on: loop) }
            }
        }
        for message in mailbox.takeAll() {
            switch message {
            case .queue(let news): take(news)
            case .credentialsChanged:
                for destination in destinations { destination.credentialsChanged() }
            case .settings(let entries): use(entries)
            case .removed: someLeave = true
            case .held(let names):
                held = names
                for (name, destination) in byName { destination.hold(names.contains(name)) }
            case .tryAgain(let names):
                for name in names { byName[name]?.tryAgain() }
            case .endRest(let names):
                for name in names { byName[name]?.endRest() }
            case .addressesChanged: haveNewAddresses = true
            case .callback(let callback): callback()
            case .stop(let deadline):
                stopping = deadline
                for destination in destinations { destination.stopEncoding() }
            }
        }
    }

    private func take(_ news: DeliveryNews) {
        switch news {
        case .packets(let packets):
            for packet in packets {
                // A destination that left may have asked for it. It waits for its return.
                guard let destination = byName[packet.stream.destination] else {
                    dependencies.source.end(packet, .recalled)
                    continue
                }
                destination.take(packet)
            }
        case .announced(let outlets):
            for outlet in outlets { byName[outlet.destination]?.announced(outlet) }
        case .retired(let outlets):
            for outlet in outlets { byName[outlet.destination]?.retired(outlet) }
        case .recalled(let packets):
            for (outlet, ids) in packets {
                byName[outlet.destination]?.giveBack(ids, of: outlet.logstore)
            }
        }
    }

    // MARK: - Other settings, and other destinations

    private func use(_ entries: [DestinationRoster.Entry]) {
        let now = Moment.now
        for entry in entries {
            if let running = byName[entry.name] {
                running.reconfigure(entry.output, now)
            } else {
                add(entry).carrier.begin(on: loop)
            }
        }
        destinationsChanged()
    }

    private func add(_ entry: DestinationRoster.Entry) -> DestinationSender {
        let new = DestinationSender(entry.output, shared, status: entry.status, dependencies)
        new.hold(held.contains(entry.name))
        byName[entry.name] = new
        byNumber[new.agendaEntry.number] = new
        return new
    }

    /// Ends destinations that leave, each as soon as nothing of it is under way.
    private func letGo() {
        someLeave = false
        var haveLeft = false
        for name in roster.leaving {
            guard let destination = byName[name] else { continue }
            guard destination.isIdle, destination.leases.count == 0 else {
                someLeave = true
                continue
            }
            // It may have been added again meanwhile.
            guard roster.drop(name) else { continue }
            destination.leave(loop)
            byName[name] = nil
            byNumber[destination.agendaEntry.number] = nil
            haveLeft = true
        }
        if haveLeft { destinationsChanged() }
    }

    private func destinationsChanged() {
        // What is shared may be other gates now.
        shared.agenda.markAllDue()
        let most = destinations.reduce(0) { $0 + $1.settings.transfer.inFlightMax }
        loop.allow(connections: max(1, most))
    }

    private func sleep(from now: Moment) -> Duration {
        guard let next = stopping ?? shared.agenda.next else { return Self.longestSleep }
        return min(Self.longestSleep, max(.zero, next - now))
    }
}

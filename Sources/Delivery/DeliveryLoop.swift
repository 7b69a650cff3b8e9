import HTTPClient
import Queue
import System

/// The delivery thread: hands packets to their destinations, moves transfers on, and sleeps until there
/// is something to do.
final class DeliveryLoop {
    enum Message: Sendable {
        case packets([SealedPacket])
        case announced([Outlet])
        case retired([Outlet])
        case recalled([Outlet: Set<Int64>])
        case credentialsChanged
        case settings([SLSOutput])
        case held(Set<String>)
        case tryAgain(Set<String>)
        case stop(Moment)
    }

    private let loop: TransferLoop
    private let mailbox: Mailbox<Message>
    private let destinations: [DestinationSender]
    private let byName: [String: DestinationSender]
    private let states: EndpointStates
    private let agenda: DeliveryAgenda
    private var stopping: Moment?
    /// Requests sent so far.
    private var sent = 0

    /// A bound for the sleep; everything that matters wakes earlier.
    private static let longestSleep: Duration = .seconds(60)

    init(
        _ loop: TransferLoop,
        _ mailbox: Mailbox<Message>,
        _ destinations: [DestinationSender],
        _ states: EndpointStates
    ) {
        self.loop = loop
        self.mailbox = mailbox
        self.destinations = destinations
        self.states = states
        agenda = states.agenda
        byName = Dictionary(uniqueKeysWithValues: destinations.map { ($0.settings.name, $0) })
    }

    func run() {
        while true {
            takeMessages()
            let now = Moment.now
            if let stopping {
                if now >= stopping || destinations.allSatisfy(\.isIdle) { break }
            } else {
                send(now)
            }
            // Ended transfers have freed places, so there may be something to send before any sleep.
            if loop.perform() == 0 { loop.wait(sleep(from: now)) }
        }
        for destination in destinations { destination.abandon(loop) }
    }

    /// One request of each destination in turn, until none can send any more: they may share an endpoint. The one
    /// that has not sent for longest begins, so none is always the first to find a shared gate open. Only destinations
    /// with something to do are looked at.
    private func send(_ now: Moment) {
        for refusal in states.refusals.takeAll() {
            for destination in destinations { destination.heed(refusal, now) }
        }
        states.memory.beginTurn(agenda)
        let due = agenda.take(now, of: destinations)
        guard !due.isEmpty else { return }
        for destination in due { destination.advance(now) }
        var line = due.filter { $0.turns.count > 0 }
        if line.count > 1 { line.sort { $0.lastSent < $1.lastSent } }
        while !line.isEmpty {
            var senders: [DestinationSender] = []
            // What cannot send now cannot before something ends.
            for destination in line where destination.sendNext(now, loop) {
                sent += 1
                destination.lastSent = sent
                senders.append(destination)
            }
            line = senders
        }
        for destination in due {
            destination.settleTurn(now)
            agenda.done(destination, next: destination.nextDeadline(now))
        }
    }

    private func takeMessages() {
        for message in mailbox.takeAll() {
            switch message {
            case .packets(let packets):
                for packet in packets { byName[packet.stream.destination]?.take(packet) }
            case .announced(let outlets):
                for outlet in outlets { byName[outlet.destination]?.announced(outlet) }
            case .retired(let outlets):
                for outlet in outlets { byName[outlet.destination]?.retired(outlet) }
            case .recalled(let packets):
                for (outlet, numbers) in packets {
                    byName[outlet.destination]?.giveBack(numbers, of: outlet.logstore)
                }
            case .credentialsChanged:
                for destination in destinations { destination.credentialsChanged() }
            case .settings(let outputs): reconfigure(outputs)
            case .held(let names):
                for (name, destination) in byName { destination.hold(names.contains(name)) }
            case .tryAgain(let names):
                for name in names { byName[name]?.tryAgain() }
            case .stop(let deadline): stopping = deadline
            }
        }
    }

    private func reconfigure(_ outputs: [SLSOutput]) {
        let now = Moment.now
        for output in outputs {
            byName[output.settings.name]?.reconfigure(output, states, now)
        }
        // What is shared may be other gates now.
        agenda.noteEveryone()
        loop.allow(connections: destinations.reduce(0) { $0 + $1.places.total })
    }

    private func sleep(from now: Moment) -> Duration {
        guard let next = stopping ?? agenda.next else { return Self.longestSleep }
        return min(Self.longestSleep, max(.zero, next - now))
    }
}

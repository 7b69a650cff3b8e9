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
        case settings([any Output])
        case held(Set<String>)
        case tryAgain(Set<String>)
        case stop(Moment)
    }

    private let loop: TransferLoop
    private let mailbox: Mailbox<Message>
    private let destinations: [DestinationSender]
    private let byName: [String: DestinationSender]
    private let shared: DeliveryThreadState
    private var stopping: Moment?
    /// Requests sent so far, and how many there were when each destination sent its last one.
    private var sent = 0
    private var lastSent: [Int]

    /// A bound for the sleep; everything that matters wakes earlier.
    private static let longestSleep: Duration = .seconds(60)

    init(
        _ loop: TransferLoop,
        _ mailbox: Mailbox<Message>,
        _ destinations: [DestinationSender],
        _ shared: DeliveryThreadState
    ) {
        self.loop = loop
        self.mailbox = mailbox
        self.destinations = destinations
        self.shared = shared
        lastSent = Array(repeating: 0, count: destinations.count)
        precondition(
            destinations.enumerated().allSatisfy { $1.agendaEntry.number == $0 },
            "the agenda counts destinations in another order"
        )
        byName = Dictionary(uniqueKeysWithValues: destinations.map { ($0.settings.name, $0) })
    }

    func run() {
        for destination in destinations { destination.carrier.begin(on: loop) }
        while true {
            takeMessages()
            let now = Moment.now
            if let stopping {
                if now >= stopping || destinations.allSatisfy(\.isIdle) { break }
            } else {
                send(now)
            }
            // Ended transfers have freed places, so there may be something to send before any sleep.
            let ended = destinations.reduce(loop.perform()) { $0 + $1.carrier.finishEnded() }
            if ended == 0 { loop.wait(sleep(from: now)) }
        }
        for destination in destinations { destination.abandon(loop) }
    }

    /// One request of each destination in turn, until none can send any more: they may share an endpoint. The one
    /// that has not sent for longest begins, so none is always the first to find a shared gate open. Only
    /// destinations with something to do are looked at.
    private func send(_ now: Moment) {
        for refusal in shared.refusals.takeAll() {
            for destination in destinations { destination.heed(refusal, now) }
        }
        shared.memory.beginTurn()
        let due = shared.agenda.take(now).map(\.number)
        guard !due.isEmpty else { return }
        for number in due { destinations[number].advance(now) }
        var line = due.filter { destinations[$0].outlets.hasTurns }
        if line.count > 1 { line.sort { lastSent[$0] < lastSent[$1] } }
        while !line.isEmpty {
            var senders: [Int] = []
            // What cannot send now cannot before something ends.
            for number in line where destinations[number].sendNext(now, loop) {
                sent += 1
                lastSent[number] = sent
                senders.append(number)
            }
            line = senders
        }
        for number in due { destinations[number].endTurn(now) }
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

    private func reconfigure(_ outputs: [any Output]) {
        let now = Moment.now
        for output in outputs {
            byName[output.settings.name]?.reconfigure(output, now)
        }
        // What is shared may be other gates now.
        shared.agenda.markAllDue()
        loop.allow(connections: destinations.reduce(0) { $0 + $1.gates.places.total })
    }

    private func sleep(from now: Moment) -> Duration {
        guard let next = stopping ?? shared.agenda.next else { return Self.longestSleep }
        return min(Self.longestSleep, max(.zero, next - now))
    }
}

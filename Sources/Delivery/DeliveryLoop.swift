import Queue
import System

/// The delivery thread: hands packets to their destinations, moves transfers on, and sleeps until there
/// is something to do.
final class DeliveryLoop {
    enum Message: Sendable {
        case packets([SealedPacket])
        case credentialsChanged
        case stop(Moment)
    }

    private let multi: Multi
    private let mailbox: Mailbox<Message>
    private let destinations: [Destination]
    private let byName: [String: Destination]
    private var stopping: Moment?

    /// A bound for the sleep; everything that matters wakes earlier.
    private static let longestSleep: Duration = .seconds(60)

    init(_ multi: Multi, _ mailbox: Mailbox<Message>, _ destinations: [Destination]) {
        self.multi = multi
        self.mailbox = mailbox
        self.destinations = destinations
        byName = Dictionary(uniqueKeysWithValues: destinations.map { ($0.settings.name, $0) })
    }

    func run() {
        while true {
            takeMessages()
            let now = Moment.now
            if let stopping {
                if now >= stopping || destinations.allSatisfy(\.isIdle) { break }
            } else {
                for destination in destinations { destination.advance(now, multi) }
            }
            var ended = 0
            multi.perform { transfer, result in
                ended += 1
                guard let load = transfer.load else { return }
                byName[load.lease.packet.stream.destination]?.finish(transfer, result)
            }
            // A place is free now, so there may be something to send before any sleep.
            if ended == 0 { multi.wait(sleep(from: now)) }
        }
        for destination in destinations { destination.abandon(multi) }
    }

    private func takeMessages() {
        for message in mailbox.takeAll() {
            switch message {
            case .packets(let packets):
                for packet in packets { byName[packet.stream.destination]?.take(packet) }
            case .credentialsChanged:
                for destination in destinations { destination.credentialsChanged() }
            case .stop(let deadline): stopping = deadline
            }
        }
    }

    private func sleep(from now: Moment) -> Duration {
        let deadlines =
            if let stopping { [stopping] } else { destinations.compactMap(\.nextDeadline) }
        guard let next = deadlines.min() else { return Self.longestSleep }
        return min(Self.longestSleep, max(.zero, next - now))
    }
}

import Logs
package import System

/// Learns where the queue stores the batches of a request, for a capture that follows its logs.
package final class BatchTrack: Sendable {
    /// A row and the numbers of the batch's logs in it: a row takes a number for each of its logs,
    /// so that a part of it can become a row of its own.
    package struct Place: Sendable, Equatable {
        package let stream: StreamID
        package let row: Int64
        package let numbers: ClosedRange<Int64>

        package init(stream: StreamID, row: Int64, numbers: ClosedRange<Int64>) {
            self.stream = stream
            self.row = row
            self.numbers = numbers
        }
    }

    package struct News: Sendable {
        package var places: [Place] = []
        /// The dead letters that some of them became at once.
        package var letters: [Int64] = []
        package var dropped = 0
        /// The number of logs that an optional destination had no room for.
        package var skipped = 0

        package init() {}
    }

    /// About the memory that it takes for a batch while it waits.
    package static let weight = 160

    private let news = Locked(News())

    package init() {}

    package func add(_ place: Place) { news.withLock { $0.places.append(place) } }

    package func add(letters ids: [Int64]) { news.withLock { $0.letters += ids } }

    package func add(dropped logs: Int) { news.withLock { $0.dropped += logs } }

    package func add(skipped logs: Int) { news.withLock { $0.skipped += logs } }

    package func takeNews() -> News {
        news.withLock { news in
            defer { news = News() }
            return news
        }
    }
}

extension SealedPacket {
    /// The logs of a batch that the packet carries; nil: none. For a packet split from a refused
    /// one, the range may include logs that follow it.
    package func numbers(of place: BatchTrack.Place) -> ClosedRange<Int64>? {
        guard place.stream == streamID else { return nil }
        let own: ClosedRange<Int64>
        if rows.lowerBound == rows.upperBound {
            own = rows.lowerBound...rows.lowerBound + Int64(logCount) - 1
        } else if rows.contains(place.row) {
            return place.numbers
        } else {
            own = rows
        }
        return own.overlaps(place.numbers) ? own.clamped(to: place.numbers) : nil
    }
}

/// An attempt to deliver a packet, as delivery saw it end.
package struct PacketAttempt: Sendable {
    /// Without its content, which would stay in memory as long as the attempt.
    package let packet: SealedPacket
    package let endpoint: String
    /// Empty if there was no connection.
    package let address: String
    /// Who answered this address; nil: the system.
    package let resolver: String?
    package let started: WallTime
    package let time: Duration
    /// nil: the connection was there already.
    package let connectTime: Duration?
    /// nil: there was no answer.
    package let status: Int?
    package let code: String?
    package let message: String
    package let requestID: String?
    /// What becomes of the packet: "stored", "tried again", "split".
    package let result: String

    package init(
        packet: SealedPacket,
        endpoint: String,
        address: String,
        resolver: String?,
        started: WallTime,
        time: Duration,
        connectTime: Duration?,
        status: Int?,
        code: String?,
        message: String,
        requestID: String?,
        result: String
    ) {
        self.packet = packet.withoutContent
        self.endpoint = endpoint
        self.address = address
        self.resolver = resolver
        self.started = started
        self.time = time
        self.connectTime = connectTime
        self.status = status
        self.code = code
        self.message = message
        self.requestID = requestID
        self.result = result
    }

    /// About the memory that it takes. Attempts share a stream's trailer, but may outlive the
    /// stream.
    package var weight: Int {
        let texts = [endpoint, address, resolver ?? "", code ?? "", message, requestID ?? ""]
        let stream = packet.stream
        return texts.reduce(512 + packet.packID.utf8.count + stream.trailer.bytes.count) {
            $0 + $1.utf8.count
        }
    }
}

/// Learns of attempts, on the delivery thread, so both must be quick.
package protocol AttemptWatcher: Sendable {
    var wantsAttempts: Bool { get }

    func note(_ attempt: PacketAttempt)
}

/// Logs that left the queue without being delivered.
package struct EndedLogs: Sendable, Equatable {
    package enum End: Sendable, Equatable {
        /// The ids of their dead letters, in the order of the logs.
        case dead([Int64])
        case expired
        case discarded
    }

    package let stream: StreamID
    /// The numbers that the logs had: see `BatchTrack.Place`.
    package let numbers: ClosedRange<Int64>
    package let end: End
    /// Last number of the row. Logs behind the removed ones, up to here, close the gap; nil: no
    /// shift.
    package let renumberedThrough: Int64?

    package init(
        stream: StreamID,
        numbers: ClosedRange<Int64>,
        end: End,
        renumberedThrough: Int64? = nil
    ) {
        self.stream = stream
        self.numbers = numbers
        self.end = end
        self.renumberedThrough = renumberedThrough
    }
}

/// Learns of logs that end undelivered, on the queue's thread, after the answers of a transaction
/// and before delivery has its packets. All must be quick.
package protocol QueueWatcher: Sendable {
    /// Asked when logs end. False costs nothing more.
    var wantsEnds: Bool { get }

    /// Called when the end of the logs is durable.
    func note(_ ended: [EndedLogs])

    /// A write failed, and what it did is unknown. The ends of some logs may never be told.
    func loseTrack()
}

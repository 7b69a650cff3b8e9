import System

/// The bodies of one destination that other threads encode. For the delivery thread only.
struct BodyEncodings {
    /// A request whose body is being encoded. It has its places at the gates.
    struct Encoding {
        let load: Load
        /// The output that encodes the body and makes the request. The destination may have another
        /// one by now.
        let output: any Output
        /// The memory that is reserved for it.
        let room: Int
    }

    private let destination: Int
    private let encoders: BodyEncoders
    private var underWay: [Int: Encoding] = [:]
    private var lastTicket = 0

    /// `destination` is its number in the agenda.
    init(of destination: Int, _ encoders: BodyEncoders) {
        self.destination = destination
        self.encoders = encoders
    }

    var isEmpty: Bool { underWay.isEmpty }

    /// `DestinationSender.encoded` is called with the outcome.
    mutating func begin(
        _ encoding: Encoding,
        _ encode: @escaping @Sendable () throws(Unsendable) -> PacketBody
    ) {
        lastTicket += 1
        underWay[lastTicket] = encoding
        encoders.begin(for: destination, ticket: lastTicket, encode)
    }

    /// nil: it was given up.
    mutating func take(_ ticket: Int) -> Encoding? { underWay.removeValue(forKey: ticket) }

    mutating func abandon() { underWay = [:] }
}

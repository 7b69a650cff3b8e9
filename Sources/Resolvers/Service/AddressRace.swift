import HTTPClient
import Net
import System

/// Connects to a host's addresses to see which answers, and how fast. The addresses start one after
/// the other, IPv6 and IPv4 in turn, as RFC 8305 says: the next begins when one fails, or after a
/// moment. Unlike there, all are measured: the ranking serves many connections.
final class AddressRace {
    let door: HostAddresses
    private var waiting: [IPAddress]
    private var running: [ObjectIdentifier: (transfer: Transfer, address: IPAddress)] = [:]
    /// When the next address starts at the latest.
    private(set) var nextStart: Moment
    private let onResult: (HostAddresses, IPAddress, Duration?) -> Void

    private static let stagger: Duration = .milliseconds(250)
    private static let patience: Duration = .seconds(2)
    private static let runningMax = 4

    init(
        _ door: HostAddresses,
        _ addresses: [IPAddress],
        _ now: Moment,
        onResult: @escaping (HostAddresses, IPAddress, Duration?) -> Void
    ) {
        self.door = door
        waiting = Self.interleaved(addresses)
        nextStart = now
        self.onResult = onResult
    }

    var isWaiting: Bool { !waiting.isEmpty && running.count < Self.runningMax }
    var isOver: Bool { waiting.isEmpty && running.isEmpty }

    /// The resolver's order within each family. IPv6 begins.
    static func interleaved(_ addresses: [IPAddress]) -> [IPAddress] {
        let (v6, v4) = (addresses.filter { !$0.isV4 }, addresses.filter(\.isV4))
        return (0..<max(v6.count, v4.count)).flatMap { place in
            [v6, v4].compactMap { place < $0.count ? $0[place] : nil }
        }
    }

    func advance(_ now: Moment, _ loop: TransferLoop) {
        while nextStart <= now, !waiting.isEmpty, running.count < Self.runningMax {
            start(waiting.removeFirst(), loop)
            nextStart = now + Self.stagger
        }
    }

    private func start(_ address: IPAddress, _ loop: TransferLoop) {
        // Without TLS: a handshake with each address would cost the servers too much.
        let transfer = Transfer(
            probing: address,
            of: "probe",
            port: door.port,
            trust: nil,
            patience: Self.patience
        )
        running[ObjectIdentifier(transfer)] = (transfer, address)
        loop.start(transfer) { [self] transfer, outcome in
            running[ObjectIdentifier(transfer)] = nil
            // The next need not wait for its moment.
            nextStart = .init(nanoseconds: 0)
            switch outcome {
            case .answered(let response): onResult(door, address, response.route.connectTime)
            case .failed: onResult(door, address, nil)
            }
        }
    }

    func cancel(_ loop: TransferLoop) {
        for entry in running.values { loop.cancel(entry.transfer) }
        (running, waiting) = ([:], [])
    }
}

extension Transfer {
    /// Connects to an address of the host and sends nothing. `trust` checks the certificate;
    /// without it there is no TLS.
    convenience init(
        probing address: IPAddress,
        of host: String,
        port: Int,
        trust: TransferOptions.Trust?,
        patience: Duration
    ) {
        var options = TransferOptions(connectTimeout: patience)
        if let trust { options.trust = trust }
        self.init(options)
        let scheme = trust == nil ? "http" : "https"
        let url = "\(scheme)://\(host):\(port)/"
        var request = TransferRequest(url, keeping: ResponseUse(body: .none))
        request.connectsOnly = true
        request.target = ConnectTarget(host: host, port: port, address: "\(address)")
        prepare(request)
    }
}

import System

/// Reports refused clients in the journal, with the setting or reason behind it.
///
/// A client that connects too often does so very often. So each reason gets one line in ten
/// seconds, with the number of refusals it stands for.
final class RefusalNotices: Sendable {
    private struct Notice {
        var count = 0
        var last: Moment?
    }

    private static let interval = Duration.seconds(10)

    private let server: String
    private let limits: HTTPServer.Limits
    private let journal: Journal
    private let full = Locked(Notice())
    private let perAddress = Locked(Notice())
    private let handshakes = Locked(Notice())
    private let proxies = Locked(Notice())

    init(server: String, limits: HTTPServer.Limits, journal: Journal) {
        self.server = server
        self.limits = limits
        self.journal = journal
    }

    func refusedFull(at now: Moment) {
        guard let count = Self.count(in: full, now) else { return }
        write(
            "connections are refused: the limit of connections is reached",
            count,
            setting: "limits.connections",
            limit: limits.connections
        )
    }

    func refusedPerAddress(from host: String, at now: Moment) {
        guard let count = Self.count(in: perAddress, now) else { return }
        write(
            "connections are refused: an address has reached its limit, for example \(host)",
            count,
            setting: "limits.connections_per_address",
            limit: limits.connectionsPerAddress
        )
    }

    func refusedProxy(from host: String, because reason: String, at now: Moment) {
        guard let count = Self.count(in: proxies, now) else { return }
        journal.warning(
            "connections are refused: they do not come from a trusted proxy with a PROXY header",
            [
                "server": server, "refused": count, "last_peer": host, "last_reason": reason,
                "remedy":
                    "list the proxy in devices.trusted_proxies and have it send PROXY headers, or "
                    + "set devices.proxy_protocol to false",
            ]
        )
    }

    func handshakeFailed(from host: String, because reason: String, at now: Moment) {
        guard let count = Self.count(in: handshakes, now) else { return }
        journal.warning(
            "TLS handshakes failed",
            [
                "server": server, "failed": count, "last_peer": host, "last_reason": reason,
                "remedy": "compare the client's certificate, authorities and TLS versions with "
                    + "those of the listener",
            ]
        )
    }

    private func write(_ event: String, _ count: Int, setting: String, limit: Int) {
        journal.warning(
            event,
            ["server": server, "refused": count, "limit": limit, "setting": setting]
        )
    }

    /// The number of refusals that a line stands for now; nil when it is too early for a line.
    private static func count(in notice: Locked<Notice>, _ now: Moment) -> Int? {
        notice.withLock { notice in
            notice.count += 1
            if let last = notice.last, now - last < interval { return nil }
            defer { notice = Notice(last: now) }
            return notice.count
        }
    }
}

import Crypto
import System

/// Messages as notifications of PostgreSQL: they write no row and wait for no disk or standby.
final class PostgreSQLMessenger: ClusterMessenger {
    /// A notification has less than 8,000 bytes, in which a part is written as Base64.
    let partBytesMax = 5_700
    private static let timeout = Duration.seconds(2)
    private static let listenAgain = Duration.milliseconds(500)
    /// How long it may stay with a server that the other connections have left.
    private static let lookEvery = Duration.seconds(5)
    /// No node has this name.
    private static let all = "*"

    private let node: String
    private let channel: String
    private let choice: ServerChoice
    private let journal: Journal
    private let link: Locked<PostgreSQLLink>
    private let settings: PostgreSQLSettings
    private let state = Locked<String?>(nil)
    private let thread: ListeningThread

    init(
        _ settings: PostgreSQLSettings,
        _ node: String,
        choice: ServerChoice,
        sending link: Locked<PostgreSQLLink>,
        _ journal: Journal
    ) throws(CommitLogError) {
        self.node = node
        channel = "sluice_\(settings.cluster)_message"
        self.settings = settings
        self.journal = journal
        self.choice = choice
        self.link = link
        thread = try ListeningThread()
    }

    var problem: String? { state.withLock(\.self) }

    /// One transaction for all parts.
    func send(_ parts: [[UInt8]], to node: String?) throws(CommitLogError) {
        let head = "\(node ?? Self.all) "
        let lines = parts.map { head + Digest.base64($0) }.joined(separator: "\n")
        try link.withLock { link throws(CommitLogError) in
            _ = try link.run(
                """
                WITH unsynced AS MATERIALIZED (\(PostgreSQLTable.unsynced))
                SELECT count(pg_notify($1, line))
                FROM unsynced, unnest(string_to_array($2, chr(10))) AS line
                """,
                [.text(channel), .text(lines)],
                until: .now + Self.timeout
            )
        }
    }

    func listen(_ receiver: @escaping @Sendable ([UInt8]) -> Void) throws(CommitLogError) {
        try thread.start { [self] in run(receiver) }
    }

    func stop() { thread.stop() }

    private func run(_ receiver: @Sendable ([UInt8]) -> Void) {
        var link = PostgreSQLLink(settings, isSynced: false, choice, journal)
        while !thread.hasEnded {
            do throws(CommitLogError) {
                _ = try link.run("LISTEN \"\(channel)\"", [], until: .now + Self.timeout)
                state.withLock { $0 = nil }
                while !thread.hasEnded {
                    let found = try link.notifications(or: thread.ending, atMost: Self.lookEvery)
                    for text in found { take(text, receiver) }
                }
            } catch {
                state.withLock { $0 = error.description }
                guard !thread.hasEnded else { return }
                thread.pause(Self.listenAgain)
            }
        }
    }

    private func take(_ text: String, _ receiver: @Sendable ([UInt8]) -> Void) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0] == Self.all || parts[0] == node,
            let bytes = base64Decoded(Array(parts[1].utf8)[...], .standard)
        else { return }
        receiver(bytes)
    }
}

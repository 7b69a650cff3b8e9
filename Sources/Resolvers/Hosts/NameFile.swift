import Crypto
import JSON
import Net
import System

/// The last answers on disk, so that a start without any resolver finds addresses. The first line
/// has the checksum of the second, which is JSON; a file that does not fit is ignored.
struct NameFile: Sendable {
    struct Kept: Equatable, Sendable {
        let host: String
        let resolvers: [String]
        let resolver: String
        let addresses: [IPAddress]
        let expires: WallTime
    }

    static let bytesMax = 4 << 20
    private static let magic = "sluice names 1 "

    let path: String

    func save(_ kept: [Kept]) throws(SystemError) {
        let entries = kept.map { entry in
            let resolvers = entry.resolvers.map { jsonQuoted($0) }.joined(separator: ",")
            let addresses = entry.addresses.map { jsonQuoted("\($0)") }.joined(separator: ",")
            return "{\"host\":\(jsonQuoted(entry.host)),\"resolvers\":[\(resolvers)],"
                + "\"resolver\":\(jsonQuoted(entry.resolver)),\"addresses\":[\(addresses)],"
                + "\"expires\":\(entry.expires.seconds)}"
        }
        let text = "[\(entries.joined(separator: ","))]"
        let content = "\(Self.magic)\(Digest.sha256Hex(text))\n\(text)\n"
        try replaceFile(path, with: Array(content.utf8))
    }

    /// nil if there is no file, or none that is whole.
    func load() -> [Kept]? {
        guard let content = try? fileContent(path, bytesMax: Self.bytesMax, waits: false),
            let text = String(validating: content, as: UTF8.self)
        else { return nil }
        let lines = text.split(separator: "\n")
        guard lines.count == 2, lines[0] == Self.magic + Digest.sha256Hex(String(lines[1])),
            let entries = (try? JSONValue(parsing: Array(lines[1].utf8)))?.elements
        else { return nil }
        return entries.compactMap(Self.kept)
    }

    private static func kept(_ value: JSONValue) -> Kept? {
        guard let host = value["host"]?.text, HostName.isValid(host),
            let resolver = value["resolver"]?.text,
            let resolvers = value["resolvers"]?.elements?.compactMap(\.text),
            let expires = value["expires"]?.wholeNumber
        else { return nil }
        let addresses = (value["addresses"]?.elements ?? [])
            .compactMap { $0.text.flatMap { IPAddress($0) } }
        guard !addresses.isEmpty else { return nil }
        return Kept(
            host: host,
            resolvers: resolvers,
            resolver: resolver,
            addresses: Array(addresses.prefix(HostAnswer.addressesMax)),
            expires: WallTime(seconds: Int64(expires))
        )
    }
}

/// Answers that are kept beyond this process, or beyond the use of their hosts. For the resolvers'
/// thread only.
final class KeptAnswers {
    private let file: NameFile?
    private let journal: Journal
    /// Of the last run, and of hosts that nobody uses any more.
    private var kept: [HostEntry.Key: NameFile.Kept] = [:]
    private var hasFile = false
    private var isSaving = false
    private var hasFailed = false
    /// When the answers are to be saved.
    private(set) var due: Moment?

    private static let saveInterval: Duration = .seconds(30)

    init(_ file: NameFile?, _ journal: Journal) {
        self.file = file
        self.journal = journal
        let last = file?.load()
        hasFile = last != nil
        for entry in last ?? [] {
            kept[HostEntry.Key(host: entry.host, resolvers: entry.resolvers)] = entry
        }
    }

    func take(_ key: HostEntry.Key) -> NameFile.Kept? { kept.removeValue(forKey: key) }

    func keep(_ entry: HostEntry, hostsMax: Int) {
        if kept.count < hostsMax { kept[entry.key] = entry.kept(.now, .now) }
    }

    func changed(_ now: Moment) { due = due ?? now + Self.saveInterval }

    /// Saves on a thread of its own, because a disk may hang.
    func save(
        _ entries: some Collection<HostEntry>,
        _ settings: NameSettings,
        whenDone: @escaping @Sendable (SystemError?) -> Void
    ) {
        due = nil
        guard !isSaving, let file, let answers = answers(entries, settings) else { return }
        let worker = try? Worker("names-file") {
            do throws(SystemError) {
                try file.save(answers)
                whenDone(nil)
            } catch {
                whenDone(error)
            }
        }
        isSaving = worker != nil
        worker?.leave()
    }

    /// Operators are told once that the answers cannot be saved.
    func saved(_ error: SystemError?) {
        isSaving = false
        guard let error, let file, !hasFailed else { return }
        hasFailed = true
        journal.warning(
            "addresses of hosts cannot be kept for the next start",
            ["path": file.path, "reason": error, "remedy": "check the disk"]
        )
    }

    /// Another save that hangs must not hold the end.
    func saveAtEnd(_ entries: some Collection<HostEntry>, _ settings: NameSettings) {
        guard !isSaving, let answers = answers(entries, settings) else { return }
        try? file?.save(answers)
    }

    /// nil: there are none, and no file.
    private func answers(
        _ entries: some Collection<HostEntry>,
        _ settings: NameSettings
    ) -> [NameFile.Kept]? {
        let (now, wall) = (Moment.now, WallTime.now)
        var all = Array(kept.values)
        all += entries.compactMap { $0.kept(now, wall) }
        all.removeAll { $0.expires + settings.maxStale < wall }
        // A gateway without resolvers has no such file.
        guard !all.isEmpty || hasFile else { return nil }
        hasFile = true
        all.sort { $0.expires > $1.expires }
        return Array(all.prefix(settings.maxHosts))
    }
}

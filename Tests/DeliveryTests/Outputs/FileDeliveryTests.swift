import Configuration
import Glibc
import Logs
import System
import TestSupport
import Testing

@testable import Delivery

/// Files as destinations of the delivery loop.
@Suite(.timeLimit(.minutes(10))) struct FileDeliveryTests {
    private let source = MemorySource()
    private let directory = TemporaryDirectory()
    private var path: String { "\(directory.path)/logs.ndjson" }
    private let recorder = JournalRecorder()

    private func settings(_ path: String, _ name: String = "app") -> Destination {
        var settings = Samples.fileDestination(FileTarget(path: path), name: name)
        settings.transfer.retry = PauseTests.quick
        return settings
    }

    private func forwarder(
        _ source: MemorySource,
        _ settings: [Destination]
    ) throws -> Forwarder {
        try Forwarder.started(
            settings,
            source: source,
            credentials: { _ in nil },
            journal: recorder.journal
        )
    }

    private func lines(_ path: String) -> [String] {
        readFile(path).split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
    }

    private func line(_ value: String) -> String {
        #"{"date":"2025-01-14T08:30:00Z","tag":"t","k":"\#(value)"}"#
    }

    @Test("Packets become lines, each log once, without any credential", arguments: [true, false])
    func delivered(isRecent: Bool) throws {
        let source = MemorySource(isRecent: isRecent)
        for number in 1...20 as ClosedRange<Int64> { source.offer(number) }
        let forwarder = try forwarder(source, [settings(path)])
        #expect(source.state.wait { $0.acknowledged.count == 20 })
        forwarder.stop(within: .seconds(5))
        let expected = (1...20).flatMap { number in
            (0..<3).flatMap { row in
                (0..<Samples.logsPerRow).map { line("value \(number * 100 + row) \($0)") }
            }
        }
        #expect(lines(path).sorted() == expected.sorted())
    }

    @Test("What a crash has torn is cut off at the start, also when no logs come")
    func tornAndIdle() throws {
        let start = line("1") + "\n"
        directory.file("logs.ndjson", start + "{\"date\":\"20")
        let forwarder = try forwarder(MemorySource(), [settings(path)])
        #expect(eventually { readFile(path) == Array(start.utf8) })
        forwarder.stop(within: .seconds(5))
    }

    @Test("A directory that is missing pauses this destination alone, and nothing is lost")
    func missing() throws {
        let away = "\(directory.path)/away/logs.ndjson"
        let forwarder = try forwarder(source, [settings(away), settings(path, "other")])
        for number in 1...3 as ClosedRange<Int64> { source.offer(number) }
        #expect(
            recorder.lines.wait { lines in
                lines.contains { $0.contains("destination is paused") && $0.contains("ENOENT") }
            }
        )
        for number in 11...13 as ClosedRange<Int64> { source.offer(number, to: "other") }
        #expect(source.state.wait { Set($0.acknowledged) == [11, 12, 13] })
        guard case .paused(let reason, _) = forwarder.status[0].state else {
            Issue.record("not paused: \(forwarder.status[0].state)")
            return
        }
        #expect(reason.contains("No such file or directory"))
        mkdir("\(directory.path)/away", 0o755)
        #expect(source.state.wait { $0.acknowledged.count == 6 })
        forwarder.stop(within: .seconds(5))
        #expect(lines(away).count == 3 * 3 * Samples.logsPerRow)
        #expect(forwarder.status[0].failures[.write, default: 0] > 0)
    }

    @Test("Settings may change while it runs: another path, and back")
    func reconfigured() throws {
        let forwarder = try forwarder(source, [settings(path)])
        #expect(source.offerAndWait(1))
        try forwarder.use([settings(path + ".new")])
        source.offer(2)
        #expect(source.state.wait { $0.acknowledged == [1, 2] })
        try forwarder.use([settings(path)])
        source.offer(3)
        #expect(source.state.wait { $0.acknowledged == [1, 2, 3] })
        forwarder.stop(within: .seconds(5))
        #expect(lines(path).count == 2 * 3 * Samples.logsPerRow)
        #expect(lines(path + ".new").count == 3 * Samples.logsPerRow)
    }

    @Test("A damaged packet is taken apart, and the others are written")
    func damaged() throws {
        source.offer(1, damaged: true)
        source.offer(2)
        let forwarder = try forwarder(source, [settings(path)])
        #expect(source.state.wait { $0.acknowledged.contains(2) && !$0.isolated.isEmpty })
        forwarder.stop(within: .seconds(5))
    }
}

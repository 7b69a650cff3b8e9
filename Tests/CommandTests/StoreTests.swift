import CSQLite
import Foundation
import TestSupport
import Testing

/// `fsck` and `backup`, and what `serve` does with a queue that is not of its version.
@Suite(.timeLimit(.minutes(10))) struct StoreTests {
    let scratch = TemporaryDirectory()

    /// A gateway whose logs go nowhere and wait, and how to start it again.
    private func start() throws -> (program: Program, file: String, listeners: Listeners) {
        // Nobody listens there.
        let file = scratch.file(
            "sluice.yaml",
            """
            listen: 127.0.0.1:0
            admin: { listen: "127.0.0.1:0" }
            data_dir: \(scratch.path)/data
            drain_timeout: 0s
            destinations:
              app: { endpoint: "http://localhost:9", project: demo, logstore: "*", region: sandbox }
            """
        )
        let (program, listeners) = try Program.serving(file)
        return (program, file, listeners)
    }

    private func postOne(_ listeners: Listeners) -> Int? {
        listeners.post("/logs/app", #"{"number":"1"}"#)
    }

    private func content(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(scratch.path)/data/\(name)"))
    }

    /// Changes the version as a newer program would, and leaves the change in the log.
    private func setSchema(_ version: Int) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open("\(scratch.path)/data/queue.db", &opened)
        let database = try #require(opened)
        defer { sqlite3_close(database) }
        #expect(code == SQLITE_OK)
        _ = sluice_sqlite_switch(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        #expect(
            sqlite3_exec(database, "PRAGMA user_version = \(version)", nil, nil, nil) == SQLITE_OK
        )
    }

    @Test(
        "A queue of a newer version is refused in one line, and neither it nor its log is touched"
    )
    func newerSchema() throws {
        let (program, file, listeners) = try start()
        #expect(postOne(listeners) == 200)
        program.killed()
        try setSchema(99)
        let before = try (content("queue.db"), content("queue.db-wal"))
        #expect(!before.1.isEmpty)

        let outcome = try Program(serving: file)
            .finished()
        #expect(outcome.exitCode == 1)
        #expect(
            outcome.errors.contains("\(scratch.path)/data/queue.db was written by a newer Sluice")
        )
        #expect(outcome.errors.contains("schema 99, and this version knows "))
        #expect(outcome.errors.contains("run that version"))
        let check = try Program(["fsck", "\(scratch.path)/data"]).finished()
        #expect(check.exitCode == 1 && check.errors.contains("newer Sluice"))
        let after = try (content("queue.db"), content("queue.db-wal"))
        #expect(before == after)
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/data")
        #expect(!names.contains { $0.contains("schema") })
    }

    @Test("fsck describes a queue, refuses one in use and finds damage")
    func check() throws {
        let data = "\(scratch.path)/data"
        let missing = try Program(["fsck", data]).finished()
        #expect(missing.exitCode == 1)
        #expect(missing.errors.contains("queue.db: ") || missing.errors.contains("\(data): "))
        let (program, _, listeners) = try start()
        #expect(postOne(listeners) == 200)
        let busy = try Program(["fsck", data]).finished()
        #expect(busy.exitCode == 1 && busy.errors.contains("in use by a gateway"))
        program.killed()

        let before = try (content("queue.db"), content("queue.db-wal"))
        let fine = try Program(["fsck", data]).finished()
        #expect(fine.exitCode == 0)
        #expect(fine.output.contains("queue.db is fine\n"))
        #expect(fine.output.contains("accepted 1 = delivered 0 + queued 1"))
        let json = try Program(["fsck", data, "--json"]).finished()
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
        )
        #expect(document["fine"] as? Bool == true && document["logs"] as? Int == 1)
        #expect((document["findings"] as? [Any])?.isEmpty == true)
        #expect(try (content("queue.db"), content("queue.db-wal")) == before)

        var log = before.1
        for index in log.indices where index % 512 == 100 { log[index] ^= 1 }
        try log.write(to: URL(filePath: data + "/queue.db-wal"))
        try Data("no database".utf8).write(to: URL(filePath: data + "/queue.db"))
        let damaged = try Program(["fsck", data]).finished()
        #expect(damaged.exitCode == 1)
        #expect(damaged.output.contains("queue.db is damaged\n"))
        #expect(damaged.output.contains("sluice serve"))
    }

    @Test("A backup under load has every log acknowledged before it began")
    func backup() throws {
        let (program, file, listeners) = try start()
        let posters = try Posters(count: 4)
        posters.post(to: listeners.devices)
        posters.waitForAnswers(100)
        let answered = posters.answered
        let copy = "\(scratch.path)/copy.db"
        let outcome = try Program(["backup", copy, "--config", file, "--json"]).finished()
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        posters.waitForAnswers(1)
        posters.stop()
        #expect(program.stopped().exitCode == 0)

        let again = try Program(["backup", copy, "--data-dir", "\(scratch.path)/data"]).finished()
        #expect(again.exitCode == 1 && again.errors.contains("is there already"))
        let check = try Program(["fsck", copy]).finished()
        #expect(check.exitCode == 0 && check.output.contains("is fine"))

        let restored = "\(scratch.path)/restored"
        try FileManager.default.createDirectory(
            atPath: restored,
            withIntermediateDirectories: false
        )
        try FileManager.default.moveItem(atPath: copy, toPath: restored + "/queue.db")
        let sandbox = try RunningSandbox()
        let other = scratch.file("restored.yaml", sandbox.configuration(dataDirectory: restored))
        let (last, _) = try Program.serving(other)
        #expect(last.stopped().exitCode == 0)
        let received = sandbox.received(field: "number")
        let missing = answered.subtracting(received)
        #expect(missing.isEmpty, "\(missing.count) of \(answered.count) are missing")
        #expect(answered.count >= 500)
        let final = try Program(["fsck", restored]).finished()
        #expect(final.exitCode == 0 && final.output.contains("queued 0"))
    }

    @Test("A backup can be written to standard output, for containers")
    func backupToOutput() throws {
        let (program, file, listeners) = try start()
        #expect(postOne(listeners) == 200)
        let copy = "\(scratch.path)/copy.db"
        #expect(FileManager.default.createFile(atPath: copy, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: copy))
        let backup = try Program(["backup", "-", "--config", file], writingTo: handle)
        let said = backup.errors.all()
        #expect(backup.ended() == 0, "\(said)")
        try handle.close()
        program.killed()
        let check = try Program(["fsck", copy]).finished()
        #expect(check.exitCode == 0, "\(check.errors)")
        #expect(check.output.contains("accepted 1 = delivered 0 + queued 1"))
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(scratch.path)/data")
        #expect(!names.contains { $0.contains("backup") || $0.contains("copy") })
    }

    @Test("A backup whose reader has gone fails with an error")
    func backupToNobody() throws {
        let (program, file, listeners) = try start()
        #expect(postOne(listeners) == 200)
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let backup = try Program(["backup", "-", "--config", file], writingTo: full)
        let said = backup.errors.all()
        #expect(backup.ended() == 1)
        #expect(said.contains("No space left"), "\(said)")
        #expect(program.stopped().exitCode == 0)
    }
}

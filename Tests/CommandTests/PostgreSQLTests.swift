import Foundation
import TestPostgreSQL
import TestSupport
import Testing

/// A gateway whose queue lies in PostgreSQL.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Database.isInstalled, "it is not installed"))
final class PostgreSQLTests {
    let database: Database
    let scratch = TemporaryDirectory()
    let sandbox: RunningSandbox

    init() throws {
        database = try Database()
        sandbox = try RunningSandbox()
    }

    func file(_ machine: String, _ more: String = "") -> String {
        scratch.file(
            "\(machine).yaml",
            sandbox.configuration(dataDirectory: "\(scratch.path)/\(machine)") + """

                queue:
                  engine: postgresql
                  commit_wait: 3s
                  postgresql: { url: "\(database.url)", node: a \(more) }
                """
        )
    }

    @Test("Another machine goes on with the queue of one that is lost, under its name")
    func move() throws {
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let (lost, devices) = try Program.serving(file("one"))
        for number in 0..<20 {
            #expect(devices.post("/logs/away", #"{"a":"\#(number)"}"#) == 200)
        }
        lost.killed()

        let (heir, _) = try Program.serving(file("two"))
        #expect(sandbox.control("DELETE", "/faults") == 200)
        let end = heir.stopped()
        #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")
        #expect(Set(sandbox.received(field: "a")) == Set((0..<20).map { "\($0)" }))
    }

    @Test("While the standby or the server is away devices are refused, and keep their logs")
    func outage() throws {
        let (gateway, listeners) = try Program.serving(file("one"))
        let devices = try TestConnection(port: listeners.devices)
        func post(_ number: Int) -> Int? {
            devices.request("POST", "/logs/away", body: #"{"a":"\#(number)"}"#)?.status
        }
        #expect(post(1) == 200)
        let standby = try #require(database.standby)
        standby.kill()
        #expect(post(2) == 503)
        let ready = try TestConnection(port: listeners.admin).request("GET", "/readyz")
        #expect(ready?.status == 503)
        try standby.start()
        #expect(eventually { post(3) == 200 })
        database.primary.kill()
        #expect(post(4) == 503)
        try database.primary.start()
        #expect(eventually { post(5) == 200 })
        let end = gateway.stopped()
        #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")
        #expect(Set(sandbox.received(field: "a")).isSuperset(of: ["1", "3", "5"]))
    }

    @Test("check asks the server")
    func check() throws {
        func check(_ machine: String) throws -> Program.Outcome {
            try Program(["check", "--config", file(machine)], environment: RunningSandbox.keys)
                .finished()
        }
        let before = try check("one")
        #expect(before.exitCode == 0, "\(before.errors)")
        #expect(before.output.contains("the table sluice_main_log is made at the first start"))
        #expect(before.output.contains("synchronous standby *"))
        database.primary.kill()
        let away = try check("one")
        #expect(away.exitCode == 1)
        #expect(away.errors.hasPrefix("sluice check: queue.postgresql: connection to server at"))
    }
}

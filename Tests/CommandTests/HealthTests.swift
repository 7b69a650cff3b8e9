import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct HealthTests {
    @Test("A gateway that answers is healthy, with no token at hand")
    func healthy() throws {
        let running = try RunningGateway()
        let admin = ["--admin-listen", "127.0.0.1:\(running.listeners.admin)"]
        let elsewhere = ["--data-dir", "\(running.scratch.path)/nowhere"]
        let health = try Program(["health"] + admin + elsewhere).finished()
        #expect(health.exitCode == 0, "\(health.errors)")
        #expect(health.output == "ok\n")
        let ready = try Program(["health", "--ready"] + admin + elsewhere).finished()
        #expect(ready.exitCode == 0, "\(ready.errors)")
        #expect(ready.output == "ready\n")
        withExtendedLifetime(running) {}
    }

    @Test("One that is drained is healthy and not ready, and says why")
    func drained() throws {
        let running = try RunningGateway()
        let end = running.operatorEnd
        #expect(try end.run("drain").exitCode == 0)
        #expect(try end.run("health").exitCode == 0)
        let ready = try end.run("health", "--ready")
        #expect(ready.exitCode == 1)
        #expect(ready.output.isEmpty)
        #expect(ready.errors == "the gateway is being drained\n")
        let document = try end.run("health", "--ready", "--json")
        #expect(document.exitCode == 1)
        #expect(document.errors.contains("the gateway is being drained"))
        withExtendedLifetime(running) {}
    }

    @Test("No gateway is no health")
    func nobody() throws {
        let running = try RunningGateway()
        running.program.signal(SIGKILL)
        _ = running.program.finished()
        let health = try running.operatorEnd.run("health")
        #expect(health.exitCode == 1)
        #expect(health.errors.contains("no gateway answers"), "\(health.errors)")
    }
}

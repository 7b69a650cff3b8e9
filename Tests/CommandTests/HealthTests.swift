import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct HealthTests {
    @Test("health succeeds without a token")
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

    @Test("A draining gateway is healthy and not ready, with the reason")
    func drained() throws {
        let running = try RunningGateway()
        let end = running.operatorEnd
        #expect(try end.run("drain").exitCode == 0)
        #expect(try end.run("health").exitCode == 0)
        let ready = try end.run("health", "--ready")
        #expect(ready.exitCode == 1)
        #expect(ready.output.isEmpty)
        #expect(ready.errors == "the gateway is draining\n")
        let document = try end.run("health", "--ready", "--json")
        #expect(document.exitCode == 1)
        #expect(document.errors.contains("the gateway is draining"))
        withExtendedLifetime(running) {}
    }

    @Test("health fails without a gateway")
    func nobody() throws {
        let running = try RunningGateway()
        running.program.signal(SIGKILL)
        _ = running.program.finished()
        let health = try running.operatorEnd.run("health")
        #expect(health.exitCode == 1)
        #expect(health.errors.contains("no gateway answers"), "\(health.errors)")
    }
}

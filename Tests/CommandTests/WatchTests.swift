import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct WatchTests {
    @Test("status begins with whether logs are accepted and delivered")
    func order() throws {
        let running = try RunningGateway()
        let output = try running.operatorEnd.run("status").output
        let lines = output.split(separator: "\n").map { $0.prefix { $0 != " " } }
        #expect(lines.prefix(4) == ["accepting", "delivering", "backlog", "credentials"])
        #expect(output.hasPrefix("accepting    yes\ndelivering   yes\n"), "\(output)")
        withExtendedLifetime(running) {}
    }

    @Test("status --watch continues while the gateway is down and after its return")
    func watch() throws {
        let running = try RunningGateway()
        let admin = ["--admin-listen", "127.0.0.1:\(running.listeners.admin)"]
        let data = ["--data-dir", "\(running.scratch.path)/data"]
        let watch = try Program(["status", "--watch=1"] + admin + data)
        #expect(watch.output.next(containing: ["accepting", "yes"]) != nil)
        running.program.signal(SIGTERM)
        #expect(watch.output.next(containing: ["no gateway answers"]) != nil)
        let file = "\(running.scratch.path)/sluice.yaml"
        let again = try Program(
            ["serve", "--config", file] + admin,
            environment: RunningSandbox.keys
        )
        #expect(watch.output.next(containing: ["accepting", "yes"]) != nil)
        // A pipe is no screen.
        #expect(!watch.output.lines.joined().contains("\u{1b}"))
        watch.signal(SIGINT)
        #expect(watch.finished().exitCode == -SIGINT)
        withExtendedLifetime((running, again)) {}
    }

    @Test("An invalid interval is refused", arguments: ["--watch=0", "--watch=soon", "--watch="])
    func pause(option: String) throws {
        let outcome = try Program(["status", option]).finished()
        #expect(outcome.exitCode == 2)
        #expect(outcome.errors.contains("--watch is a number of seconds"), "\(outcome.errors)")
    }
}

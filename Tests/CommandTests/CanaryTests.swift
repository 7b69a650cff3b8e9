import Foundation
import TestSupport
import Testing

/// Secrets are planted wherever one may be, every path is gone, and then everything that the
/// gateway wrote and said is searched for them.
@Suite(.timeLimit(.minutes(2))) struct CanaryTests {
    @Test(
        "No secret is on disk, in output, in metrics or in an answer, whatever happens",
        arguments: [true, false]
    )
    func secrets(isKept: Bool) throws {
        let house = try CanaryHouse(isKept: isKept)
        defer { house.end() }
        let gateway = try house.started()
        #expect(house.post(gateway) == 200)
        house.lookEverywhere(gateway)
        house.tryTokens(gateway)
        house.rotate(gateway)
        house.steer(gateway)
        try house.command(gateway)
        try house.reloadMistakes(gateway)
        house.lookEverywhere(gateway)
        try house.end(gateway)
        // What was kept is opened again, and then with a key that does not fit.
        let second = try house.started()
        house.lookEverywhere(second)
        try house.end(second)
        try house.write(house.configuration(encryptionKey: house.otherKey))
        let third = try house.started()
        house.lookEverywhere(third)
        try house.end(third)

        #expect(house.answers > 100 && house.isHookTried)
        #expect(try house.found() == "")
        // It would be found.
        house.scratch.file("seen/proof", "x" + house.otherKey)
        #expect(try house.found().contains("canary-other-key"))
    }

    @Test("A gateway leaves no core dump, which would contain secrets")
    func coreDumps() throws {
        let running = try RunningGateway()
        let limits = try String(
            contentsOfFile: "/proc/\(running.program.identifier)/limits",
            encoding: .utf8
        )
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        #expect(line?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"], "\(limits)")
        running.program.signal(SIGTERM)
        #expect(!running.program.finished().errors.contains("core dumps"))
    }
}

import Foundation
import TestSupport
import Testing

/// Secrets are planted wherever one may be, every path is gone, and then everything that the
/// gateway wrote and said is searched for them.
@Suite(.timeLimit(.minutes(10))) struct CanaryTests {
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

/// Secrets that must be found nowhere, in no spelling that a program might write them in.
final class Canaries {
    private var secrets: [String] = []
    private let scratch: TemporaryDirectory

    init(in scratch: TemporaryDirectory) {
        self.scratch = scratch
    }

    /// One more, different from all others; long enough to be found by no accident.
    func secret(_ place: String) -> String {
        let noise = (0..<3).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 36) }
        return planted("canary-\(place)-\(noise.joined())")
    }

    func planted(_ secret: String) -> String {
        secrets.append(secret)
        return secret
    }

    /// Lines of "file:secret" for what is found in files and directories under the scratch
    /// directory.
    func found(in places: [String], butNotIn exception: String = "none") throws -> String {
        let list = scratch.file(
            "patterns",
            secrets.flatMap(Self.spellings).joined(separator: "\n") + "\n"
        )
        let words = ["grep", "-r", "-a", "-o", "-F", "-f", list, "--exclude=\(exception)"]
        let grep = try ChildProcess(
            words + places.map { "\(scratch.path)/\($0)" },
            output: .pipe
        )
        let found = grep.output?.readAll() ?? ""
        // 1: nothing was found; 2: it could not look.
        guard (0...1).contains(grep.wait()) else { return "grep failed" }
        return found
    }

    /// As it is, percent-encoded, in hex, and in base64 wherever it begins.
    private static func spellings(_ secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        let encoded = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let base64 = (0..<3).map { offset in
            let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            // What stands at the ends depends on the neighbours.
            return String(text.dropFirst(4).dropLast(4))
        }
        return [secret, encoded ?? secret, hex, hex.uppercased()] + base64
    }
}

import Configuration
import Glibc
import TestConfiguration
import TestSupport
import Testing

@Suite struct ConfigurationReaderTests {
    @Test("A file that is being edited concerns nobody before it is asked for anew")
    func edited() throws {
        let directory = TemporaryDirectory()
        let file = directory.file("sluice.yaml", minimal)
        let keys = ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
        let reader = ConfigurationReader(.init(file: file, environment: keys))
        let first = try reader.read([:], rereadsFile: true)
        _ = directory.file("sluice.yaml", minimal + "drain_timeout: 3s\n")
        #expect(try reader.read([:], rereadsFile: false) == first)
        #expect(try reader.read([:], rereadsFile: true).drainTimeout == .seconds(3))
        _ = directory.file("sluice.yaml", "nonsense: [")
        #expect(throws: ConfigurationProblems.self) { try reader.read([:], rereadsFile: true) }
        // What was refused is not what the gateway goes on with.
        #expect(try reader.read([:], rereadsFile: false).drainTimeout == .seconds(3))
    }

    @Test(
        "A pipe in the place of the file is refused at a change, and holds nobody",
        .timeLimit(.minutes(1))
    )
    func pipe() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("sluice.yaml", "destinations: { a: { kind: stdout } }\n")
        let reader = ConfigurationReader(ConfigurationInputs(file: path))
        _ = try reader.read([:], rereadsFile: true)
        unlink(path)
        mkfifo(path, 0o600)
        #expect(throws: ConfigurationProblems.self) { try reader.read([:], rereadsFile: true) }
    }
}

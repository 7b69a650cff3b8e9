import Configuration
import TestConfiguration
import TestSupport
import Testing

@Suite struct ConfigurationMutationTests {
    private static let text = """
        listen: 127.0.0.1:9090
        admin: &a { listen: "127.0.0.1:9091", token: "${TOKEN:-0123456789abcdef0123456789abcdef}" }
        queue:
          max_bytes: 2GiB
          durability: normal
          ENGINE
        destinations:
          app:
            endpoint: https://cn-hangzhou.log.aliyuncs.com
            project: my-project
            logstore: "*"
            packet: { bytes: 512KiB, logs: 100, age: 2s }
            tags: { env: prod, zone: [a, b], more: *a }
        filters_secret: 0123456789abcdef
        filters:
          - name: common
            match: ["pv.**", "{a,b}.*"]
            steps:
              - set: { env: prod, page: "{{captured}}" }
              - redact: { fields: [msg], pattern: "(?i)tel: *[0-9]+", with: hash }
                when: { any: [{ field: level, in: [debug] }, { not: { tag: a.* } }] }
        routes: [{ match: "pv.**", to: [app], last: true }, { to: [] }]
        credentials:
          default: { from: static, access_key_id: x, access_key_secret: "${file:/none}" }

        """

    private static let engines = [
        """
        engine: jetstream
          jetstream: { servers: ["nats://n1", "tls://[::1]:4222"], user: joe, password: 0123456789abcdef, tls: {} }
        """,
        """
        engine: postgresql
          postgresql: { url: "postgresql://joe:0123456789abcdef@n1,[::1]:5433/logs?sslmode=require", copies: storage }
        """,
    ]

    /// The same sequence for the same seed, so that a failure can be repeated.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            // SplitMix64.
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    @Test(
        "Whatever a file holds, it is read or refused with a line",
        arguments: 0..<20 as Range<UInt64>
    )
    func mutated(seed: UInt64) throws {
        var dice = Dice(state: seed)
        let directory = TemporaryDirectory()
        let text = Self.text.replacing("ENGINE", with: Self.engines[Int(seed % 2)])
        for _ in 0..<50 {
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &dice) {
                let place = Int.random(in: bytes.indices, using: &dice)
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: bytes[place] = .random(in: 0...255, using: &dice)
                case 1: bytes.remove(at: place)
                case 2:
                    bytes.insert(
                        "{}[]:*&!|>'\"%@`#-? \n\t$".utf8.randomElement(using: &dice)!,
                        at: place
                    )
                default: bytes.append(contentsOf: bytes[..<place])
                }
            }
            let path = directory.file("sluice.yaml", bytes)
            do {
                _ = try GatewayConfiguration.read(.init(file: path, environment: [:]))
            } catch {
                #expect(!error.problems.isEmpty)
                #expect(!error.description.contains("0123456789abcdef"))
            }
        }
    }
}

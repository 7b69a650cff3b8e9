import JSON
import NATS
import TestSupport
import Testing

@testable import CommitLog

/// What of a cluster only JetStream has; ClusterContractTests has the rest.
@Suite(.timeLimit(.minutes(10))) final class JetStreamClusterTests {
    let trial: JetStreamTrial

    init() throws {
        trial = JetStreamTrial(try sharedBrokers.get())
    }

    /// A page of a list, as a server writes it.
    func page(_ streams: [String], offset: Int, total: Int) throws -> StreamList {
        let text = """
            {"type":"io.nats.jetstream.api.v1.stream_list_response","total":\(total),"offset":\(offset),
            "limit":256,"streams":[\(streams.joined(separator: ","))],"missing":["SLUICE_main_Q_lost"]}
            """
        let answer = try JSONValue(parsing: Array(text.utf8), depthMax: 16)
        return try StreamList(answer, of: "main")
    }

    func stream(_ name: String, _ subject: String, state: String = #"{"last_seq":7}"#) -> String {
        #"{"config":{"name":"\#(name)","subjects":["\#(subject)"]},"state":\#(state)}"#
    }

    @Test("Pages of the list of streams follow each other to its end")
    func paging() throws {
        let own = stream("SLUICE_main_Q_a~1", "sluice.main.q.a~1")
        let first = try page([own], offset: 0, total: 513)
        #expect(first.shards == [ListedShard(name: "a~1", last: 7)])
        #expect(first.next == 256)
        #expect(try page([own], offset: 256, total: 513).next == 512)
        #expect(try page([own], offset: 512, total: 513).next == nil)
        #expect(try page([], offset: 0, total: 0).next == nil)
        #expect(try page([own], offset: 9984, total: 90_000).next == nil)
    }

    @Test("Streams of others, and those without a state, are no shards")
    func strangers() throws {
        let others = [
            stream("OTHER", "sluice.main.q.a"),
            stream("SLUICE_main_Q_b_Q_c", "sluice.main_Q_b.q.c"),
            stream("SLUICE_main_Q_d", "sluice.main.q.d", state: "null"),
            stream("SLUICE_main_Q_e", "sluice.main.q.e", state: #"{"last_seq":-1}"#),
        ]
        #expect(try page(others, offset: 0, total: 4).shards == [])
    }

    @Test("A cluster is checked before its first start and after it")
    func check() throws {
        let cluster = JetStreamCluster(
            try trial.client(),
            trial.settings,
            logBytesMax: 64 << 20,
            isSynced: true
        )
        let name = trial.settings.cluster
        let before = try untilReached { () throws(CommitLogError) in try cluster.check() }
        #expect(before.contains("the cluster \(name) has 0 shards"), "\(before)")
        // No version is taken that these tests and the proofs do not run with.
        #expect(before.contains("has version \(JetStreamLog.minimumVersion);"), "\(before)")
        #expect(before.hasSuffix("the stream SLUICE_\(name)_REG is made at the first start"))
        try untilReached { () throws(CommitLogError) in try cluster.open() }
        let after = try cluster.check()
        #expect(after.hasSuffix("the cluster \(name) has 0 shards"), "\(after)")
        // The streams of the trial are gone.
        let names = try trial.client().request(
            "$JS.API.STREAM.NAMES",
            Array(#"{"subject":"sluice.\#(name).>"}"#.utf8),
            timeout: .seconds(5)
        )
        #expect(
            try JSONValue(parsing: names.body)["streams"]
                == .array([.string("SLUICE_\(name)_REG")])
        )
    }

    @Test("What a gateway has set it reads at once, whichever replica answers")
    func freshness() throws {
        let cluster = try trial.cluster()
        for number in 0..<300 {
            let value = [UInt8(number % 256)]
            try cluster.set("a", to: value)
            #expect(try cluster.registers().mapValues(\.value) == ["a": value])
            if number % 3 == 0 {
                try cluster.set("a", to: nil)
                #expect(try cluster.registers() == [:])
            }
        }
    }

    @Test("Weaker settings do not weaken the streams of a cluster, unless that is wanted")
    func weakening() throws {
        let strong = try trial.cluster()
        try strong.log(of: "a").open(makes: true)
        try strong.control.open(makes: true)
        let client = try trial.client()
        func config(_ stream: String) throws -> JSONValue? {
            let name = "$JS.API.STREAM.INFO.SLUICE_\(trial.settings.cluster)_\(stream)"
            let answer = try client.request(name, timeout: .seconds(5))
            return try JSONValue(parsing: answer.body)["config"]
        }
        func open(isSynced: Bool) throws -> JetStreamCluster {
            JetStreamCluster(client, trial.settings, logBytesMax: 64 << 20, isSynced: isSynced)
        }
        let before = try ["REG", "CTL", "Q_a"].map { try config($0)?["placement"] }
        trial.settings.replicas = 1
        let weak = try open(isSynced: false)
        let opens: [() throws -> Void] = [
            weak.open, { try weak.control.open(makes: true) },
            { try weak.log(of: "a").open(makes: true) }, { _ = try weak.check() },
        ]
        for open in opens {
            #expect {
                try open()
            } throws: { error in
                (error as? CommitLogError)?.kind == .refused
                    && "\(error)".contains("has 3 copies instead of 1, and is on brokers that sync")
                    && "\(error)".contains(
                        "set queue.jetstream.replicas to 3 and queue.durability to full"
                    )
            }
        }
        // Each alone is refused, too.
        #expect(throws: CommitLogError.self) { try open(isSynced: true).open() }
        trial.settings.replicas = 3
        #expect(throws: CommitLogError.self) { try open(isSynced: false).open() }
        // A shard of another gateway is opened as it is.
        try weak.log(of: "a").open(makes: false)
        #expect(try config("Q_a")?["num_replicas"] == .number(3))
        #expect(try ["REG", "CTL", "Q_a"].map { try config($0)?["placement"] } == before)
        #expect(try config("REG")?["num_replicas"] == .number(3))

        trial.settings.replicas = 1
        trial.settings.weakens = true
        let wanted = try open(isSynced: false)
        try untilReached { () throws(CommitLogError) in try wanted.open() }
        #expect(try config("REG")?["num_replicas"] == .number(1))
        // A stronger gateway needs no permission.
        trial.settings.replicas = 3
        trial.settings.weakens = false
        let again = try open(isSynced: true)
        try untilReached { () throws(CommitLogError) in try again.open() }
        #expect(try config("REG")?["num_replicas"] == .number(3))
    }

    @Test("A stream of registers with other settings is corrected, or refused")
    func registerStream() throws {
        let client = try trial.client()
        let name = "SLUICE_\(trial.settings.cluster)_REG"
        func make(_ settings: String) throws {
            _ = try client.request("$JS.API.STREAM.DELETE.\(name)", timeout: .seconds(5))
            let body = #"{"name":"\#(name)","num_replicas":3,\#(settings)}"#
            _ = try client.request(
                "$JS.API.STREAM.CREATE.\(name)",
                Array(body.utf8),
                timeout: .seconds(5)
            )
        }
        let subjects = #""subjects":["sluice.\#(trial.settings.cluster).reg.>"]"#
        try make(#"\#(subjects),"discard":"old","max_msgs_per_subject":1"#)
        let cluster = try trial.cluster()
        try untilReached { () throws(CommitLogError) in try cluster.set("a", to: nil) }
        #expect(try cluster.registers() == [:])
        try make(#"\#(subjects),"discard":"old","max_msgs_per_subject":2"#)
        #expect { try trial.cluster() } throws: { error in
            (error as? CommitLogError)?.kind == .refused
                && "\(error)".contains("the setting max_msgs_per_subject of the stream \(name)")
        }
    }
}

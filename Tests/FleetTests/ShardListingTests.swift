import CommitLog
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// What `sluice shards` tells of a cluster.
struct ShardListingTests {
    private func register(
        _ node: String,
        _ life: String,
        home: String? = nil,
        _ shards: [String: Int],
        isStopped: Bool = false
    ) -> (String, Register) {
        var register = NodeRegister(node: node, life: life)
        register.home = home
        register.shards = shards
        register.isStopped = isStopped
        return (register.name, Register(value: register.bytes, revision: 1))
    }

    @Test("Owner, role, epoch and last entry of each shard are told; fine ones are not strange")
    func fine() {
        let listing = ShardListing(
            [ListedShard(name: "b~00000002", last: 20), ListedShard(name: "a~00000001", last: 10)],
            Dictionary(uniqueKeysWithValues: [
                register("a", "1", home: "a~00000001", ["a~00000001": 3, "b~00000002": 5]),
                register("b", "2", home: "b~00000002", ["b~00000002": 4], isStopped: true),
                // Absorbed, and named by one that has stopped.
                register("c", "3", home: "c~00000003", ["c~00000003": 4], isStopped: true),
                ("gone.c~00000003", Register(value: Array("1".utf8), revision: 1)),
            ])
        )
        #expect(listing.rows.map(\.name) == ["a~00000001", "b~00000002"])
        #expect(listing.rows.map(\.last) == [10, 20])
        #expect(listing.rows.map { $0.owner?.node } == ["a", "a"])
        #expect(listing.rows.map { $0.owner?.isHome } == [true, false])
        #expect(listing.rows.map { $0.owner?.epoch } == [3, 5])
        #expect(!listing.isStrange)
    }

    @Test("What is strange is named")
    func strange() throws {
        let listing = ShardListing(
            [
                ListedShard(name: "a~00000001", last: 1), ListedShard(name: "other", last: 2),
                ListedShard(name: "d~00000004", last: 3), ListedShard(name: "e~00000005", last: 3),
            ],
            Dictionary(uniqueKeysWithValues: [
                register("b", "2", home: "b~00000002", ["b~00000002": 4]),
                register("d", "1", home: "d~00000004", ["d~00000004": 4]),
                register("e", "1", ["d~00000004": 5, "e~00000005": 1]),
                ("gone.e~00000005", Register(value: Array("1".utf8), revision: 1)),
            ])
        )
        func finding(_ name: String) throws -> String {
            let row = try #require(listing.rows.first { $0.name == name })
            return row.findings.joined(separator: "; ")
        }
        #expect(try finding("a~00000001").contains("no register claims it"))
        #expect(try finding("b~00000002").contains("its log is gone"))
        #expect(try finding("b~00000002").contains("gateway b"))
        #expect(try finding("other").contains("no gateway gives such a name"))
        #expect(try finding("d~00000004").contains("several gateways claim it (d, e)"))
        #expect(try finding("e~00000005").contains("its log is still there"))
        #expect(listing.rows.first { $0.name == "d~00000004" }?.owner?.node == "e")
    }

    @Test("Running gateways and their shards are listed")
    func gateways() throws {
        let trial = FleetTrial()
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let gateways = try [trial.start(a), trial.start(b)]
        let view = try trial.openView()
        var listing: ShardListing?
        #expect(
            eventually {
                listing = try? ShardListing.read(view)
                return listing?.rows.allSatisfy { ($0.owner?.epoch ?? 0) > 0 } ?? false
            }
        )
        #expect(listing?.rows.compactMap { $0.owner?.node } == ["a", "b"])
        #expect(listing?.isStrange == false)
        for gateway in gateways { gateway.close() }
        #expect(
            eventually {
                (try? ShardListing.read(view))?.rows.allSatisfy { $0.owner?.isStopped == true }
                    ?? false
            }
        )
    }
}

import Testing

@testable import Fleet

@Suite struct ShardNameTests {
    @Test("A shard's name tells its node, and no two are equal")
    func names() {
        let names = (0..<100).map { _ in ShardName.new(for: "gw~1") }
        #expect(Set(names).count == 100)
        #expect(names.allSatisfy { ShardName.node(of: $0) == "gw~1" })
    }

    @Test(
        "What a gateway did not name is no shard",
        arguments: ["gw", "gw~", "gw~1234567", "gw~1234567G", "CTL"]
    )
    func foreign(name: String) {
        #expect(ShardName.node(of: name) == nil)
    }
}

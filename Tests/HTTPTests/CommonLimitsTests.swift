import Net
import Testing

@testable import HTTP

/// Limits that hold for several servers together.
@Suite struct CommonLimitsTests {
    private func neighbourhood(_ host: String) throws -> Neighbourhood {
        try #require(SocketAddress(host: host, port: 1)).neighbourhood
    }

    @Test("Servers share one connection limit, and each counts its own connections")
    func connections() throws {
        let common = ConnectionCount(limit: 3, perNeighbourhood: 2)
        let one = ConnectionCount(limit: 3, perNeighbourhood: 2, within: common)
        let two = ConnectionCount(limit: 3, perNeighbourhood: 2, within: common)
        let here = try neighbourhood("192.0.2.1")
        let there = try neighbourhood("192.0.2.2")
        #expect(one.add(from: here) == .admitted)
        #expect(two.add(from: here) == .admitted)
        #expect(one.add(from: here) == .addressFull)
        #expect(two.add(from: there) == .admitted)
        #expect(one.add(from: there) == .full)
        #expect([one.count, two.count, common.count] == [1, 2, 3])
        two.remove(from: here)
        #expect(one.add(from: here) == .admitted)
        #expect([one.count, two.count, common.count] == [2, 1, 3])
    }

    @Test("Bytes that fit only one of two budgets are charged to neither")
    func oneBoundAlone() throws {
        let common = ByteBudget(limit: 1000)
        let own = ByteBudget(limit: 100, within: common)
        let here = try neighbourhood("192.0.2.1")
        #expect(!own.take(200, for: nil, largest: 0))
        #expect(!own.take(60, for: here, largest: 0), "one address has half of the own bound")
        #expect(own.inUse == 0 && common.inUse == 0)
        #expect(common.take(950, for: nil, largest: 0))
        #expect(!own.take(90, for: nil, largest: 0))
        #expect(own.inUse == 0 && common.inUse == 950)
        #expect(own.take(50, for: here, largest: 0))
        own.giveBack(50, of: here)
        #expect(own.inUse == 0 && common.inUse == 950)
    }

    @Test("Servers share one body budget, and a body given back makes room for all")
    func bodies() throws {
        let common = ByteBudget(limit: 100)
        let one = ByteBudget(limit: 100, within: common)
        let two = ByteBudget(limit: 100, within: common)
        let here = try neighbourhood("192.0.2.1")
        let there = try neighbourhood("192.0.2.2")
        #expect(one.take(40, for: here, largest: 0))
        #expect(!two.hasRoom(for: 20, of: here, largest: 0))
        #expect(!two.take(20, for: here, largest: 0))
        #expect(two.take(50, for: there, largest: 0))
        #expect([one.inUse, two.inUse, common.inUse] == [40, 50, 90])
        one.giveBack(40, of: here)
        #expect(two.take(20, for: here, largest: 0))
        #expect([one.inUse, two.inUse, common.inUse] == [0, 70, 70])
    }
}

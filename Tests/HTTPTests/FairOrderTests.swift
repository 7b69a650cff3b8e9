import Net
import Testing

@testable import HTTP

@Suite struct FairOrderTests {
    private func neighbourhood(_ number: Int) throws -> Neighbourhood {
        try #require(SocketAddress(host: "192.0.2.\(number)", port: 1)).neighbourhood
    }

    private func drain(_ order: inout FairOrder<String>) -> [String] {
        var all: [String] = []
        while let next = order.takeNext() { all.append(next) }
        return all
    }

    @Test("Requests of one neighbourhood keep their order")
    func oneNeighbourhood() throws {
        var order = FairOrder<String>()
        for number in 0..<100 {
            order.add("\(number)", of: try neighbourhood(1), cost: (number * 37) % 11)
        }
        #expect(drain(&order) == (0..<100).map(String.init))
    }

    @Test("Neighbourhoods take turns, weighed by cost")
    func turns() throws {
        var order = FairOrder<String>()
        for number in 0..<3 { order.add("dear \(number)", of: try neighbourhood(1), cost: 10) }
        for number in 0..<6 { order.add("cheap \(number)", of: try neighbourhood(2), cost: 5) }
        #expect(
            drain(&order) == [
                "dear 0", "cheap 0", "cheap 1", "dear 1", "cheap 2", "cheap 3", "dear 2", "cheap 4",
                "cheap 5",
            ]
        )
    }

    @Test("A late request does not wait for a backlog")
    func late() throws {
        var order = FairOrder<String>()
        for number in 0..<1000 { order.add("\(number)", of: nil, cost: 100) }
        for number in 0..<10 { #expect(order.takeNext() == "\(number)") }
        order.add("late", of: try neighbourhood(1), cost: 100)
        let next = [order.takeNext(), order.takeNext()]
        #expect(next.contains("late"))
    }

    @Test("Removed requests are gone, and the rest keeps its order")
    func removal() throws {
        var order = FairOrder<String>()
        for number in 0..<50 {
            order.add("\(number)", of: try neighbourhood(number % 5), cost: 1 + number % 3)
        }
        var same = order
        let removed = order.removeAll { $0.hasSuffix("7") || $0.hasSuffix("2") }
        #expect(removed.count == 10)
        #expect(order.waitingCount == 40)
        let expected = drain(&same).filter { !removed.contains($0) }
        #expect(drain(&order) == expected)
    }

    @Test("The number of remembered neighbourhoods is bounded")
    func bound() throws {
        var order = FairOrder<Int>()
        order.add(-1, of: nil, cost: 1)
        for number in 0..<40_000 {
            let address = IPAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
            order.add(number, of: try #require(address).neighbourhood, cost: 1 << 20)
            if order.waitingCount > 100 { _ = order.takeNext() }
        }
        #expect(order.rememberedCount <= 16_384)
    }
}

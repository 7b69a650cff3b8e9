import Testing

@testable import Delivery

@Suite struct PlacesTests {
    /// Each in turn takes what it may, until nobody can.
    func fill(_ places: inout Places, outlets: Int, limit: Int = .max) -> [Int] {
        var held = [Int](repeating: 0, count: outlets)
        var hasTaken = true
        while hasTaken {
            hasTaken = false
            for outlet in held.indices
            where places.admits(holding: held[outlet], isProbe: false, within: limit) {
                places.take(isProbe: false)
                held[outlet] += 1
                hasTaken = true
            }
        }
        return held
    }

    @Test("One outlet gets half of the places, so that another finds some")
    func alone() {
        var places = Places(total: 16)
        #expect(fill(&places, outlets: 1) == [8])
        #expect(places.admits(holding: 0, isProbe: false, within: .max))
    }

    @Test("Several share, and none is without", arguments: [2, 3, 7, 16])
    func shared(outlets: Int) throws {
        var places = Places(total: 16)
        let held = fill(&places, outlets: outlets)
        let (most, least) = (try #require(held.max()), try #require(held.min()))
        #expect(least >= 1)
        #expect(most - least <= 1)
        #expect(places.taken <= 16)
    }

    @Test("More outlets than places never take more than there are")
    func many() {
        var places = Places(total: 4)
        #expect(fill(&places, outlets: 100).reduce(0, +) == 4)
        #expect(places.free(within: .max) == 0)
        places.giveBack(isProbe: false)
        #expect(places.admits(holding: 0, isProbe: false, within: .max))
    }

    @Test("A lower limit counts instead")
    func limited() {
        var places = Places(total: 16)
        #expect(fill(&places, outlets: 2, limit: 3) == [1, 1])
        #expect(places.free(within: 1) == 0)
    }

    @Test("Probes that hang leave half of the places", arguments: [1, 2, 16])
    func probes(total: Int) {
        var places = Places(total: total)
        var probes = 0
        while places.admits(holding: 0, isProbe: true, within: .max) {
            places.take(isProbe: true)
            probes += 1
        }
        #expect(probes == max(1, total / 2))
        for _ in 0..<probes { places.giveBack(isProbe: true) }
        #expect(places == Places(total: total))
    }
}

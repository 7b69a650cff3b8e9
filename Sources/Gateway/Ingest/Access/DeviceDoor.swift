/// Who may send: looked at with each request, replaced with a reload.
package final class DeviceDoor: Sendable {
    let keys: Replaceable<DeviceKeys>
    private let bodyBytesMax: Int
    private let refused = CounterList(count: AccessProblem.allCases.count)

    package init(_ keys: [DeviceKey], bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
        self.keys = Replaceable(DeviceKeys(keys, bodyBytesMax: bodyBytesMax))
    }

    func replace(_ new: [DeviceKey]) {
        keys.replace { DeviceKeys(new, after: $0, bodyBytesMax: bodyBytesMax) }
    }

    /// The answer to whoever is not known, counted.
    func refusal(_ problem: AccessProblem) -> Refusal {
        refused.add(1, at: problem.place)
        return problem.refusal
    }

    /// By the name of the key.
    var counts: [(name: String, counts: KeyCounter.Counts)] {
        keys.value.senders.map { ($0.name, $0.counter.counts) }
    }

    var strangers: [(reason: String, count: Int)] {
        AccessProblem.allCases.map { ($0.rawValue, refused[$0.place]) }
    }
}

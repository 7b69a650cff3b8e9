import Configuration
import Logs
import Queue
import Routing

/// Copies logs to the destinations of their routes. Copies share their bytes.
struct FanOut {
    private let request: DispatchRequest
    private let limits: LogLimits
    /// For each destination a list of its parts, so that its bounds do not depend on the other
    /// destinations.
    private var joined: [JoinedParts] = []
    /// Their names, while they are few; else their numbers by name.
    private var names: [String] = []
    private var numbers: [String: Int] = [:]
    private static let fewNames = 4
    /// Logs behind the filters.
    var waiting: [(group: LogGroup, plan: TagPlan)] = []
    var counts = DispatchedLogs.Counts()
    /// The group that is added, by its number in the request.
    var groupNumber = 0
    /// nil: no trace wants them.
    private var places: [DispatchedLogs.Place]?
    private static let placesMax = 10_000

    init(_ request: DispatchRequest, _ limits: LogLimits) {
        self.request = request
        self.limits = limits
        places = request.trace == nil ? nil : []
    }

    var dispatched: DispatchedLogs {
        var dispatched = DispatchedLogs(
            joined.count == 1 ? joined[0].parts : joined.flatMap(\.parts)
        )
        dispatched.counts = counts
        dispatched.places = places ?? []
        dispatched.destinations = max(joined.count, 1)
        return dispatched
    }

    mutating func addWaiting() throws(Refusal) {
        for (group, plan) in waiting { try add(group, plan) }
        waiting.removeAll(keepingCapacity: true)
    }

    mutating func add(_ group: LogGroup, _ plan: TagPlan) throws(Refusal) {
        guard group.target.isRouted else {
            let target = try addressed(group)
            return put(group.isRetimed ? try checked(group, for: target) : group, target)
        }
        switch plan.outcome {
        case .dropped: counts.dropped += group.logs.count
        case .unrouted, .addressed: try addUnrouted(group)
        case .routed: try addRouted(group, plan)
        }
    }

    /// The target that the request names. Where that follows from a tag, it follows a filter's tag.
    private func addressed(_ group: LogGroup) throws(Refusal) -> RoutingTable.Target {
        let target = group.target
        guard group.isRetagged, target.tag != nil else { return target }
        return (try? request.retarget(group.tag)) ?? target
    }

    private mutating func addRouted(_ group: LogGroup, _ plan: TagPlan) throws(Refusal) {
        var isTaken = false
        var forbidden: String?
        for name in plan.destinations {
            guard
                let target = try request.table.target(
                    atDestination: name,
                    group.target,
                    tag: group.tag
                )
            else { continue }
            guard request.allows(name) else {
                forbidden = forbidden ?? name
                continue
            }
            isTaken = true
            put(try checked(group, for: target), target)
        }
        guard !isTaken else { return }
        if let forbidden { try request.checkRight(forbidden) }
        // Destinations that begin with the next start.
        try addUnrouted(group)
    }

    private mutating func addUnrouted(_ group: LogGroup) throws(Refusal) {
        counts.unrouted += group.logs.count
        let unrouted = request.table.router?.rules.unrouted ?? .defaultDestination
        guard unrouted != .drop else {
            counts.dropped += group.logs.count
            return
        }
        let target = try request.table.unroutedTarget(group.target, tag: group.tag)
        try request.checkRight(target.destination)
        guard unrouted == .deadLetter else { return put(try checked(group, for: target), target) }
        var dead = group
        let sound = FaultyLogs(logs: group.logs.sound, fault: .unrouted(tag: group.tag))
        dead.tracked.logs.sound = EncodedLogs()
        if sound.logs.count > 0 { dead.tracked.logs.faulty.append(sound) }
        put(dead, target)
    }

    private mutating func put(_ group: LogGroup, _ target: RoutingTable.Target) {
        guard group.logs.count > 0 else { return }
        let number = number(of: target.destination) ?? joined.count
        if number == joined.count {
            names.append(target.destination)
            if !numbers.isEmpty {
                numbers[target.destination] = number
            } else if names.count > Self.fewNames {
                for (number, name) in names.enumerated() { numbers[name] = number }
            }
            joined.append(JoinedParts(limits, repeatedBytesMax: request.repeatedBytesMax))
        }
        joined[number].add(group, to: target)
        guard places != nil, places!.count < Self.placesMax else { return }
        places!.append(.init(group: groupNumber, tag: group.tag, destination: target.destination))
    }

    private func number(of name: String) -> Int? {
        numbers.isEmpty ? names.firstIndex(of: name) : numbers[name]
    }

    /// The logs under the rules of their destination, where the destinations of routes have
    /// different ones, or filters changed times.
    private func checked(
        _ group: LogGroup,
        for target: RoutingTable.Target
    ) throws(Refusal) -> LogGroup {
        guard request.table.routedRulesDiffer || group.isRetimed else { return group }
        var (logs, checked) = (group.logs, group)
        let (sound, faulty) = (logs.sound, logs.faulty)
        (logs.sound, logs.faulty) = (EncodedLogs(), [])
        if sound.count > 0 { logs.append(try request.applyRules(sound, target)) }
        for faulty in faulty {
            if faulty.fault.isOversize {
                logs.append(try request.applyRules(faulty.logs, target))
            } else {
                logs.faulty.append(faulty)
            }
        }
        checked.tracked.logs = logs
        return checked
    }
}

import Queue

@testable import SQLiteQueue

extension ScenarioRun {
    /// A packet was handed over: compares it with the logs that the model has.
    func note(_ packet: SealedPacket) throws {
        let outlet = packet.stream.outlet
        asked[outlet, default: 0] -= 1
        try check(asked[outlet] ?? 0 >= 0, "a packet of \(outlet) came that nobody asked for")
        try lanes.note(packet)
        let isHeld = inFlight.contains { $0.packet.number == packet.number }
        try check(!isHeld, "packet \(packet.number) is handed over twice")
        // One that waited for room may be handed over once more.
        refused.removeAll { $0.packet.number == packet.number }
        guard let numbers = try contents(of: packet) else { return }
        try check(numbers.count == packet.logCount, "packet \(packet.number) miscounts its logs")
        try compareSizes(packet, numbers)
        try compareOrder(packet, numbers)
        let revisions = numbers.map { Revision(number: $0, revision: model[$0].revision) }
        let before = contents.updateValue(revisions, forKey: packet.packID)
        try check(before == nil || before == revisions, "pack id \(packet.packID) changed")
        for number in numbers { model[number].packet = packet.number }
        inFlight.append(Held(packet: packet, numbers: numbers))
    }

    /// The logs in it; nil when it cannot be read, or is to be given back, which the queue knows
    /// then.
    func contents(of packet: SealedPacket) throws -> [Int]? {
        do {
            return try model.numbers(store.blocks(of: packet))
        } catch let error as QueueError {
            let numbers = try rows().filter {
                $0.stream == packet.streamID.number && packet.rows.contains($0.record.id)
            }.flatMap(\.numbers)
            let held = Held(packet: packet, numbers: numbers)
            for number in numbers { model[number].packet = packet.number }
            switch error.kind {
            case .corrupt:
                let isDamaged = numbers.contains { model[$0].isDamaged }
                try check(
                    isDamaged,
                    "packet \(packet.number) is well, and cannot be read: \(error)"
                )
                pending.append(.unreadable(held))
            case .withdrawn:
                let isRecalled = queue.isRecalled(packet.number)
                try check(isRecalled, "packet \(packet.number) is withdrawn and not recalled")
                pending.append(.giveBack(held))
            default: throw ModelFailure("packet \(packet.number) cannot be read: \(error)")
            }
            return nil
        }
    }

    private func compareSizes(_ packet: SealedPacket, _ numbers: [Int]) throws(ModelFailure) {
        let raw = numbers.reduce(0) { $0 + model[$1].bytes.count }
        try check(raw == packet.rawBytes, "packet \(packet.number) miscounts its bytes")
        let oldest = numbers.map { model[$0].received }.min()
        try check(oldest == packet.oldest, "packet \(packet.number) is not as old as it says")
        let rules = rules(packet.stream.destination)
        // What was sealed under other rules, or is one row, may be larger.
        let isNew = numbers.allSatisfy { model[$0].packet == nil && model[$0].parent == nil }
        let fits = packet.logCount <= rules.packetLogs && packet.rawBytes <= rules.packetBytes
        try check(
            !isNew || fits || packet.rows.lowerBound == packet.rows.upperBound,
            "packet \(packet.number) exceeds its limits"
        )
    }

    /// Each log is in one packet, packets that were sealed stay as they are, and what is new comes
    /// in order.
    private func compareOrder(_ packet: SealedPacket, _ numbers: [Int]) throws(ModelFailure) {
        let logs = numbers.map { model[$0] }
        let what = "packet \(packet.number) with \(numbers)"
        for log in logs {
            try check(log.place == .queued, "\(what): log \(log.number) is \(log.place)")
            try check(
                log.stream == packet.stream,
                "\(what): log \(log.number) is of another stream"
            )
            try check(
                log.packet == nil || log.packet == packet.number,
                "\(what): log \(log.number) is in packet \(log.packet ?? 0) too"
            )
        }
        let orders = logs.map(\.order)
        try check(zip(orders, orders.dropFirst()).allSatisfy { $0 < $1 }, "\(what) is not in order")
        if logs.contains(where: { $0.packet != nil }) {
            let whole = model.logs.filter { $0.packet == packet.number }.map(\.number)
            return try check(Set(whole) == Set(numbers), "\(what) had \(whole) before")
        }
        guard !logs.contains(where: \.isLoose) else { return }
        let parents = Set(logs.map(\.parent))
        try check(parents.count == 1, "\(what) has logs of packets \(parents)")
        guard parents.first == .some(nil), let first = orders.first, let last = orders.last else {
            return
        }
        let before = lastOrder[packet.streamID.number] ?? 0
        try check(first > before, "\(what) comes after later logs of its stream")
        lastOrder[packet.streamID.number] = last
    }
}
